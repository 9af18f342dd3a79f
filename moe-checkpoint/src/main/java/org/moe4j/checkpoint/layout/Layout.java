package org.moe4j.checkpoint.layout;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Properties;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import org.moe4j.checkpoint.config.ConfigRule;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.core.preset.Preset;

/** The file of a family: how its configuration becomes a preset, which layers are MoE layers, and what its tensors are. */
public final class Layout {
    private static final String FOLDER = "/moe/layout/";

    private final String id;
    private final SortedMap<String, String> lines;
    private final Map<LayerPart, List<TensorPattern>> tensors = new EnumMap<>(LayerPart.class);

    private Layout(String id, SortedMap<String, String> lines) {
        this.id = id;
        this.lines = lines;
        below("tensors.").forEach((key, value) -> {
            LayerPart part = LayerPart.named(key).orElseThrow(() -> wrong(key, "the name of a part", key));
            List<TensorPattern> alternatives = new ArrayList<>();
            for (String alternative : value.split("\\|\\|", -1)) {
                alternatives.add(TensorPattern.parse(alternative));
            }
            tensors.put(part, List.copyOf(alternatives));
        });
    }

    /**
     * The layouts of the library.
     *
     * @return names of their files
     */
    public static List<String> names() {
        return list(read("index").getOrDefault("layouts", ""));
    }

    /**
     * A layout of the library.
     *
     * @param id name of its file
     * @return the layout
     */
    public static Layout named(String id) {
        return new Layout(id, read(id));
    }

    /**
     * The layout of a model.
     *
     * @param config names the kind of model
     * @return the layout
     * @throws IllegalArgumentException for a kind that no layout knows
     */
    public static Layout of(ModelConfig config) {
        Optional<String> type = config.text("model_type");
        List<String> known = new ArrayList<>();
        for (String id : names()) {
            Layout layout = named(id);
            if (type.map(layout.modelTypes()::contains).orElseGet(() -> layout.recognises(config))) {
                return layout;
            }
            known.addAll(layout.modelTypes());
        }
        throw config.wrong("model_type", "one of " + known, type.orElse("absent"));
    }

    /** Whether a configuration that does not name its kind has the keys by which it can be told. */
    private boolean recognises(ModelConfig config) {
        return lines.containsKey("recognisedBy")
                && list(required("recognisedBy")).stream()
                        .allMatch(key -> config.text(key).isPresent());
    }

    /**
     * Name of its file.
     *
     * @return as {@code qwen3-moe}
     */
    public String id() {
        return id;
    }

    /**
     * The kinds of models it is for.
     *
     * @return values of {@code model_type}
     */
    public List<String> modelTypes() {
        return list(required("modelTypes"));
    }

    /**
     * What stands before the names of the layers.
     *
     * @return alternatives, of which a checkpoint has one
     */
    List<String> prefixes() {
        return list(required("prefixes"));
    }

    /** The tensors that may hold a part; none for a part that the family does not have. */
    List<TensorPattern> tensors(LayerPart part) {
        return tensors.getOrDefault(part, List.of());
    }

    /** What the names of all tensors of a layer begin with; every tensor there has to be a part's. */
    List<String> covers() {
        return list(required("covers"));
    }

    /**
     * The settings of its MoE layers.
     *
     * @param config of a model of this family
     * @return the preset
     * @throws IllegalArgumentException when a key is absent or has a value that the family does not know
     */
    public Preset preset(ModelConfig config) {
        below("check.").forEach((name, line) -> check(config, line));
        SortedMap<String, String> settings = new TreeMap<>();
        settings.put("name", config.text("_name_or_path").orElse(required("family")));
        settings.put("source", config.name());
        for (String section : List.of("experts", "router", "shared", "merge", "losses")) {
            String when = lines.get("when." + section);
            if (when != null && absent(ConfigRule.parse(when).apply(config))) {
                continue;
            }
            below(section + ".")
                    .forEach((key, line) -> ConfigRule.parse(line)
                            .apply(config)
                            .ifPresent(value -> settings.put(section + "." + key, value)));
        }
        return Preset.of(config.name(), settings);
    }

    /**
     * Which layers are MoE layers.
     *
     * @param config of a model of this family
     * @return their indices, unmodifiable
     * @throws IllegalArgumentException when a key is absent or has a wrong value
     */
    public SortedSet<Integer> moeLayers(ModelConfig config) {
        return MoeLayers.of(this, config);
    }

    private static boolean absent(Optional<String> value) {
        return value.isEmpty() || value.get().equals("0") || value.get().equals("false");
    }

    /** {@code rule = value, other value}: what the rule gives has to be one of the values. */
    private void check(ModelConfig config, String line) {
        int equals = line.lastIndexOf('=');
        ConfigRule rule = ConfigRule.parse(line.substring(0, equals));
        List<String> allowed = Arrays.stream(line.substring(equals + 1).split(";", -1))
                .map(String::trim)
                .toList();
        Optional<String> value = rule.apply(config);
        if (value.isPresent() && !allowed.contains(value.get())) {
            String key = line.substring(0, equals).split("[,|]", -1)[0].trim();
            throw config.wrong(key, String.join(" or ", allowed) + " (" + required("family") + ")", value.get());
        }
    }

    /** A line of the file by which other rooms find what they need; empty for an absent one. */
    Optional<ConfigRule> rule(String key) {
        return Optional.ofNullable(lines.get(key)).map(ConfigRule::parse);
    }

    private SortedMap<String, String> below(String start) {
        SortedMap<String, String> found = new TreeMap<>();
        lines.forEach((key, value) -> {
            if (key.startsWith(start)) {
                found.put(key.substring(start.length()), value);
            }
        });
        return found;
    }

    private String required(String key) {
        String value = lines.get(key);
        if (value == null) {
            throw wrong(key, "a line", "absent");
        }
        return value;
    }

    private IllegalArgumentException wrong(String key, String expected, String was) {
        return new IllegalArgumentException("layout " + id + ": " + key + ": expected " + expected + " but was " + was);
    }

    private static List<String> list(String text) {
        return Arrays.stream(text.split(",", -1)).map(String::trim).toList();
    }

    private static SortedMap<String, String> read(String id) {
        String file = FOLDER + id + ".properties";
        try (InputStream stream = Layout.class.getResourceAsStream(file)) {
            if (stream == null) {
                throw new NoSuchElementException("layout: expected one of " + names() + " but was " + id);
            }
            Properties properties = new Properties();
            properties.load(new InputStreamReader(stream, StandardCharsets.UTF_8));
            SortedMap<String, String> lines = new TreeMap<>();
            properties.forEach(
                    (key, value) -> lines.put(key.toString(), value.toString().trim()));
            return lines;
        } catch (IOException e) {
            throw new UncheckedIOException("layout " + id + ": expected a readable resource", e);
        }
    }
}
