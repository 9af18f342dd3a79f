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
import org.moe4j.checkpoint.config.ModelConfig;

/** Which layers of a model are MoE layers, by the lines {@code layers.…} of its layout. */
final class MoeLayers {
    private final Layout layout;
    private final ModelConfig config;

    private MoeLayers(Layout layout, ModelConfig config) {
        this.layout = layout;
        this.config = config;
    }

    static SortedSet<Integer> of(Layout layout, ModelConfig config) {
        return new MoeLayers(layout, config).all();
    }

    /**
     * Layer i is an MoE layer when all of these hold that the layout has a line for: {@code i ≥ from}, {@code (i + 1) % step = 0},
     * {@code i % every = 0}, i is not in the list {@code except}, kind i of {@code pattern} is one of
     * {@code kind}.
     */
    private SortedSet<Integer> all() {
        int count = number("layers.count", 0);
        int from = number("layers.from", 0);
        int step = number("layers.step", 1);
        int every = number("layers.every", 1);
        Set<Integer> except = list("layers.except");
        Optional<List<String>> kinds = text("layers.pattern").map(MoeLayers::kinds);
        List<String> wanted = List.of(text("layers.kind").orElse("").split(", ", -1));
        if (kinds.isPresent() && kinds.get().size() != count) {
            throw config.wrong(
                    "kinds of layers", count + " (layers)", "" + kinds.get().size());
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
    private static List<String> kinds(String text) {
        if (!text.startsWith("[")) {
            return List.of(text.split("", -1)).subList(0, text.length());
        }
        List<String> kinds = new ArrayList<>();
        json(text).forEach(kind -> kinds.add(kind.asText()));
        return kinds;
    }

    private static JsonNode json(String text) {
        try {
            return new ObjectMapper().readTree(text);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("expected a list but was " + text, e);
        }
    }

    private Optional<String> text(String key) {
        return layout.rule(key).flatMap(rule -> rule.apply(config));
    }

    private int number(String key, int absent) {
        Optional<String> text = text(key);
        try {
            int number = text.map(Integer::parseInt).orElse(absent);
            if (number < (key.equals("layers.step") || key.equals("layers.every") ? 1 : 0)) {
                throw config.wrong(key, "a number of layers", text.orElse(""));
            }
            return number;
        } catch (NumberFormatException e) {
            throw config.wrong(key, "a number of layers", text.orElse(""));
        }
    }

    private Set<Integer> list(String key) {
        Optional<String> text = text(key);
        Set<Integer> numbers = new HashSet<>();
        text.ifPresent(list -> json(list).forEach(number -> numbers.add(number.asInt())));
        return numbers;
    }
}
