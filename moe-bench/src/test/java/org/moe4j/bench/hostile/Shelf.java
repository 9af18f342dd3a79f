package org.moe4j.bench.hostile;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;

/** Values to call with, found by type. Of each class it keeps only so many, so that what is made often does not crowd out the rest. */
final class Shelf {
    private final int most;
    private final Optional<Backend> backend;
    private final List<Object> values = new ArrayList<>();
    private final Map<Class<?>, Integer> counts = new HashMap<>();
    private final Map<Class<?>, List<Object>> byType = new HashMap<>();

    /**
     * Nothing on it yet.
     *
     * @param most values of one class
     * @param backend of all matrices on it; empty for any
     */
    Shelf(int most, Optional<Backend> backend) {
        this.most = most;
        this.backend = backend;
    }

    /** Keeps a value, or those in a collection, map or optional of them, if they are of a type that an argument may need. */
    void add(Object value) {
        if (value instanceof Optional<?> optional) {
            optional.ifPresent(this::add);
        } else if (value instanceof Collection<?> several) {
            several.stream().filter(one -> one != null).limit(4).forEach(this::add);
        } else if (value instanceof Map<?, ?> map) {
            add(map.values());
        } else if (isWorthKeeping(value) && counts.merge(value.getClass(), 1, Integer::sum) <= most) {
            values.add(value);
            byType.clear();
        }
    }

    private boolean isWorthKeeping(Object value) {
        return value != null
                && !(value instanceof Matrix matrix && isForeign(matrix))
                && !(value instanceof Throwable)
                && !(value instanceof Enum<?>)
                && !(value instanceof Number)
                && !(value instanceof Boolean)
                && !(value instanceof CharSequence)
                && !(value instanceof ExpertShape shape && isLarge(shape));
    }

    private boolean isForeign(Matrix matrix) {
        return backend.isPresent() && !backend.get().equals(matrix.backend());
    }

    /** Weights of that size would be drawn for minutes before memory is full. */
    private static boolean isLarge(ExpertShape shape) {
        return shape.count() > 1000 || shape.hiddenSize() > 1000 || shape.intermediateSize() > 1000;
    }

    List<Object> of(Class<?> type) {
        return byType.computeIfAbsent(
                type, asked -> values.stream().filter(asked::isInstance).toList());
    }

    List<Object> all() {
        return values;
    }
}
