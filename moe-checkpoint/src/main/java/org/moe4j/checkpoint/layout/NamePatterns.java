package org.moe4j.checkpoint.layout;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Finds what a tensor is by its name, in a time that does not depend on how many patterns there are. In a pattern {@code {prefix}} is
 * one of several beginnings, {@code {layer}} and {@code {expert}} are numbers between dots, and a star at the end is any end.
 *
 * @param <V> what a pattern means
 */
public final class NamePatterns<V> {
    private static final String NUMBER = "#";
    private static final String ANY = "*";

    private final List<String> prefixes;
    private final Map<String, V> exact = new HashMap<>();
    private final Map<String, V> starts = new HashMap<>();

    /**
     * No patterns yet.
     *
     * @param prefixes what {@code {prefix}} may stand for
     */
    public NamePatterns(List<String> prefixes) {
        this.prefixes = List.copyOf(prefixes);
    }

    /**
     * What a name means.
     *
     * @param value of the pattern
     * @param layer the first number between dots; empty where there is none
     * @param open whether the pattern ends with a star
     * @param <V> what a pattern means
     */
    public record Found<V>(V value, OptionalInt layer, boolean open) {}

    /**
     * Adds a pattern. Of equal ones the first counts.
     *
     * @param pattern as {@code {prefix}layers.{layer}.mlp.gate.weight}
     * @param value what it means
     */
    public void add(String pattern, V value) {
        for (String prefix : pattern.contains("{prefix}") ? prefixes : List.of("")) {
            String filled =
                    pattern.replace("{prefix}", prefix).replace("{layer}", "0").replace("{expert}", "0");
            if (filled.endsWith(ANY)) {
                starts.putIfAbsent(
                        Shape.of(filled.substring(0, filled.length() - 1)).text(), value);
            } else {
                exact.putIfAbsent(Shape.of(filled).text(), value);
            }
        }
    }

    /**
     * Looks a name up: whole patterns first, then the longest of those with a star.
     *
     * @param name of a tensor
     * @return what it means; empty when no pattern has it
     */
    public Optional<Found<V>> find(String name) {
        Shape shape = Shape.of(name);
        V value = exact.get(shape.text());
        if (value != null) {
            return Optional.of(new Found<>(value, shape.layer(), false));
        }
        return starts.entrySet().stream()
                .filter(start -> shape.text().startsWith(start.getKey()))
                .max((a, b) -> Integer.compare(a.getKey().length(), b.getKey().length()))
                .map(start -> new Found<>(start.getValue(), shape.layer(), true));
    }

    /** A name with the same sign for every number between dots, and the first of these. */
    private record Shape(String text, OptionalInt layer) {
        static Shape of(String name) {
            List<String> words = new ArrayList<>();
            OptionalInt layer = OptionalInt.empty();
            for (String word : name.split("\\.", -1)) {
                boolean number = word.matches("[0-9]{1,9}");
                words.add(number ? NUMBER : word);
                if (number && layer.isEmpty()) {
                    layer = OptionalInt.of(Integer.parseInt(word));
                }
            }
            return new Shape(String.join(".", words), layer);
        }
    }
}
