package org.moe4j.checkpoint.layout;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.moe4j.checkpoint.config.ConfigRule;
import org.moe4j.checkpoint.config.ModelConfig;

/** Which layers of a model are MoE layers, by the lines {@code layers.…} of its layout. */
final class MoeLayers {
    private static final int MOST = 100_000; // far more than any model has, few enough to list

    private final LayoutRules rules;
    private final ModelConfig config;

    MoeLayers(LayoutRules rules, ModelConfig config) {
        this.rules = rules;
        this.config = config;
    }

    /** How many layers there are, of any kind. */
    int count() {
        Optional<List<String>> kinds = text("layers.pattern").map(this::kinds);
        return number("layers.count", kinds.map(List::size).orElse(0), 0);
    }

    /**
     * Layer i is an MoE layer when all of these hold that the layout has a line for: {@code i ≥ from}, {@code (i + 1) % step = 0},
     * {@code i % every = 0}, i is not in the list {@code except}, kind i of {@code pattern} is one of
     * {@code kind}.
     */
    SortedSet<Integer> all() {
        Optional<List<String>> kinds = text("layers.pattern").map(this::kinds);
        int count = count();
        int from = number("layers.from", 0, 0);
        int step = number("layers.step", 1, 1);
        int every = number("layers.every", 1, 1);
        Set<Integer> except = numbers("layers.except");
        List<String> wanted = List.of(text("layers.kind").orElse("").split(", ", -1));
        if (kinds.isPresent() && kinds.get().size() != count) {
            throw config.wrong(
                    name("layers.pattern"),
                    count + " kinds (" + name("layers.count") + ")",
                    "" + kinds.get().size());
        }
        SortedSet<Integer> layers = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            boolean kind = kinds.isEmpty() || wanted.contains(kinds.get().get(i));
            if (i >= from && (i + 1) % step == 0 && i % every == 0 && !except.contains(i) && kind) {
                layers.add(i);
            }
        }
        return Collections.unmodifiableSortedSet(layers);
    }

    /** A list of words, or a word whose letters are the kinds. */
    private List<String> kinds(String text) {
        if (!text.startsWith("[")) {
            return List.of(text.split("", -1)).subList(0, text.length());
        }
        List<String> kinds = new ArrayList<>();
        list("layers.pattern", text).forEach(kind -> kinds.add(kind.asText()));
        return kinds;
    }

    private JsonNode list(String key, String text) {
        try {
            JsonNode list = new ObjectMapper().readTree(text);
            if (list.isArray()) {
                return list;
            }
        } catch (JsonProcessingException e) {
            // refused below, as a value that is no list
        }
        throw config.wrong(name(key), "a list", text);
    }

    private Optional<String> text(String key) {
        return rules.rule(key).flatMap(rule -> rule.apply(config));
    }

    private String name(String key) {
        return rules.rule(key).map(ConfigRule::key).orElse(key);
    }

    private int number(String key, int absent, int least) {
        Optional<String> text = text(key);
        try {
            int number = text.map(Integer::parseInt).orElse(absent);
            if (number >= least && number <= MOST) {
                return number;
            }
        } catch (NumberFormatException e) {
            // refused below, as a number out of range
        }
        throw config.wrong(name(key), "a whole number in " + least + ".." + MOST, text.orElse("absent"));
    }

    private Set<Integer> numbers(String key) {
        Set<Integer> numbers = new HashSet<>();
        text(key)
                .ifPresent(text -> list(key, text).forEach(number -> {
                    if (!number.isInt()) {
                        throw config.wrong(name(key), "a list of whole numbers", text);
                    }
                    numbers.add(number.asInt());
                }));
        return numbers;
    }
}
