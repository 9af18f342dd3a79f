package org.moe4j.checkpoint.layout;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.moe4j.checkpoint.config.ConfigRule;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.core.preset.Preset;

/** What a configuration of a family means: the settings of its MoE layers, the norms around them, and refusals in its own words. */
final class LayoutSettings {
    private static final Pattern OF_A_PRESET = Pattern.compile("preset (.*?): ([a-z]+\\.[A-Za-z.]+): (.*)");

    private final LayoutRules rules;
    private final String family;

    LayoutSettings(LayoutRules rules, String family) {
        this.rules = rules;
        this.family = family;
    }

    Preset preset(ModelConfig config) {
        for (LayoutRules.Check check : rules.checks()) {
            Optional<String> value = check.rule().apply(config);
            if (value.isPresent() && !check.allowed().contains(value.get())) {
                throw config.wrong(
                        check.rule().key(), String.join(" or ", check.allowed()) + " (" + family + ")", value.get());
            }
        }
        SortedMap<String, String> settings = new TreeMap<>();
        settings.put(
                "name",
                config.text("_name_or_path").filter(name -> !name.isBlank()).orElse(family));
        settings.put("source", config.name());
        for (String section : LayoutRules.sections()) {
            if (holds("when." + section, config)) {
                rules.settings(section)
                        .forEach((key, rule) -> rule.apply(config).ifPresent(value -> settings.put(key, value)));
            }
        }
        return Preset.of(config.name(), settings);
    }

    /** Whether there is no such condition, or it gives something other than no. */
    private boolean holds(String condition, ModelConfig config) {
        Optional<ConfigRule> rule = rules.rule(condition);
        return rule.isEmpty()
                || rule.get()
                        .apply(config)
                        .filter(value -> !value.equals("0") && !value.equals("false"))
                        .isPresent();
    }

    BlockNorms norms(ModelConfig config) {
        Set<LayerPart> parts = new LinkedHashSet<>();
        for (LayerPart part : List.of(LayerPart.NORM_BEFORE, LayerPart.NORM_BEHIND)) {
            if (!rules.tensors(part).isEmpty() && holds("when." + part.key(), config)) {
                parts.add(part);
            }
        }
        return new BlockNorms(parts, number("block.norm.epsilon", config, 0), number("block.norm.offset", config, 0));
    }

    private double number(String key, ModelConfig config, double absent) {
        Optional<ConfigRule> rule = rules.rule(key);
        Optional<String> text = rule.flatMap(found -> found.apply(config));
        try {
            double number = text.map(Double::parseDouble).orElse(absent);
            if (number >= 0 && number < Double.POSITIVE_INFINITY) {
                return number;
            }
        } catch (NumberFormatException e) {
            // refused below, as a number that is no epsilon
        }
        throw config.wrong(rule.map(ConfigRule::key).orElse(key), "a number of at least 0", text.orElse("absent"));
    }

    IllegalArgumentException inWordsOf(ModelConfig config, IllegalArgumentException refused) {
        String message = String.valueOf(refused.getMessage());
        Matcher matcher = OF_A_PRESET.matcher(message);
        if (!matcher.matches()) {
            return message.startsWith(config.name())
                    ? refused
                    : new IllegalArgumentException(config.name() + ": " + message, refused);
        }
        String setting = matcher.group(2);
        String key = rules.rule(setting)
                .map(rule -> rule.key() + " (" + setting + ")")
                .orElse(setting);
        return new IllegalArgumentException(config.name() + ": " + key + ": " + matcher.group(3), refused);
    }
}
