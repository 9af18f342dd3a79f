package org.moe4j.checkpoint.layout;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.moe4j.checkpoint.config.ConfigChange;
import org.moe4j.checkpoint.config.ConfigRule;

/** The lines of a layout with their notations read: all of them when the file is, so that a fault in one shows at once. */
final class LayoutRules {
    private static final List<String> SECTIONS = List.of("experts", "router", "shared", "merge", "losses");
    private static final List<String> HEAD =
            List.of("family", "modelTypes", "recognisedBy", "source", "note", "prefixes", "covers");
    private static final List<String> RULES = List.of(
            "layers.count",
            "layers.from",
            "layers.step",
            "layers.every",
            "layers.except",
            "layers.pattern",
            "layers.kind",
            "block.norm.epsilon",
            "block.norm.offset");
    private static final List<String> NEEDED =
            List.of("family", "modelTypes", "source", "prefixes", "covers", "layers.count");

    private final LayoutLines lines;
    private final SortedMap<String, ConfigRule> rules = new TreeMap<>();
    private final SortedMap<String, Check> checks = new TreeMap<>();
    private final SortedMap<String, ConfigChange> changes = new TreeMap<>();
    private final Map<LayerPart, List<TensorPattern>> tensors = new EnumMap<>(LayerPart.class);

    /**
     * What a rule has to give.
     *
     * @param rule about the configuration
     * @param allowed what it may give
     */
    record Check(ConfigRule rule, List<String> allowed) {}

    LayoutRules(LayoutLines lines) {
        this.lines = lines;
        NEEDED.forEach(lines::required);
        for (String key : lines.keys()) {
            try {
                read(key, lines.required(key));
            } catch (IllegalArgumentException fault) {
                String message = String.valueOf(fault.getMessage());
                throw message.startsWith("layout ")
                        ? fault
                        : new IllegalArgumentException("layout " + lines.id() + ": " + key + ": " + message, fault);
            }
        }
    }

    private void read(String key, String line) {
        String section = key.substring(0, Math.max(0, key.indexOf('.')));
        if (section.equals("tensors")) {
            LayerPart part = LayerPart.named(key.substring("tensors.".length()))
                    .orElseThrow(() -> lines.wrong(key, "the name of a part after tensors.", key));
            tensors.put(part, patterns(line));
        } else if (key.equals("rewrite.routedScale") || key.startsWith("rewrite.convention.")) {
            changes.put(key.substring("rewrite.".length()), ConfigChange.parse(line));
        } else if (section.equals("check")) {
            checks.put(key, check(key, line));
        } else if (section.equals("census")) {
            return; // read where the census is made
        } else if (SECTIONS.contains(section) || RULES.contains(key) || isCondition(key)) {
            rules.put(key, ConfigRule.parse(line));
        } else if (!HEAD.contains(key)) {
            throw lines.wrong(key, "a key of a layout", key);
        }
    }

    private static boolean isCondition(String key) {
        return key.startsWith("when.")
                && (SECTIONS.contains(key.substring("when.".length()))
                        || key.equals("when." + LayerPart.NORM_BEFORE.key())
                        || key.equals("when." + LayerPart.NORM_BEHIND.key()));
    }

    private static List<TensorPattern> patterns(String line) {
        List<TensorPattern> alternatives = new ArrayList<>();
        for (String alternative : line.split("\\|\\|", -1)) {
            alternatives.add(TensorPattern.parse(alternative));
        }
        return List.copyOf(alternatives);
    }

    /** {@code rule = value; other value}. */
    private Check check(String key, String line) {
        int equals = line.lastIndexOf('=');
        if (equals < 0) {
            throw lines.wrong(key, "rule = value; other value", line);
        }
        return new Check(
                ConfigRule.parse(line.substring(0, equals)),
                Arrays.stream(line.substring(equals + 1).split(";", -1))
                        .map(String::trim)
                        .toList());
    }

    Optional<ConfigRule> rule(String key) {
        return Optional.ofNullable(rules.get(key));
    }

    /** The rules for the settings of a preset, by the keys of the preset. */
    SortedMap<String, ConfigRule> settings(String section) {
        SortedMap<String, ConfigRule> found = new TreeMap<>();
        rules.forEach((key, rule) -> {
            if (key.startsWith(section + ".")) {
                found.put(key, rule);
            }
        });
        return found;
    }

    /** Which change of a configuration means what, by {@code routedScale} and {@code convention.NAME}. */
    SortedMap<String, ConfigChange> changes() {
        return changes;
    }

    static List<String> sections() {
        return SECTIONS;
    }

    Iterable<Check> checks() {
        return checks.values();
    }

    List<TensorPattern> tensors(LayerPart part) {
        return tensors.getOrDefault(part, List.of());
    }
}
