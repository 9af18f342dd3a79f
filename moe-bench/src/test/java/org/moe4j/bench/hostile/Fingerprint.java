package org.moe4j.bench.hostile;

import java.lang.reflect.Array;
import java.lang.reflect.RecordComponent;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Parameters;

/** A hash of what an argument holds, so that a change of it shows. Objects that hide what they hold count as unchanged. */
final class Fingerprint {
    private static final int DEPTH = 6;

    private Fingerprint() {}

    static int of(Object value) {
        return of(value, DEPTH);
    }

    private static int of(Object value, int depth) {
        if (value == null || depth == 0) {
            return 1;
        } else if (value.getClass().isArray()) {
            return ofArray(value, depth);
        } else if (value instanceof Matrix matrix) {
            return ofMatrix(matrix);
        } else if (value instanceof FloatBuffer buffer) {
            return 31 * buffer.position() + buffer.limit();
        } else if (value instanceof Parameters parameters) {
            return ofParameters(parameters);
        } else if (value instanceof Collection<?> several) {
            return several.stream()
                    .limit(64)
                    .mapToInt(one -> of(one, depth - 1))
                    .reduce(several.size(), (a, b) -> 31 * a + b);
        } else if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .mapToInt(entry -> 31 * of(entry.getKey(), depth - 1) + of(entry.getValue(), depth - 1))
                    .sum();
        } else if (value instanceof Optional<?> optional) {
            return of(optional.orElse(null), depth - 1);
        } else if (value instanceof Record) {
            return ofRecord(value, depth);
        }
        return value instanceof Number || value instanceof CharSequence || value instanceof Boolean
                ? value.hashCode()
                : 2;
    }

    private static int ofArray(Object array, int depth) {
        int length = Array.getLength(array);
        int hash = length;
        for (int i = 0; i < Math.min(length, 256); i++) {
            hash = 31 * hash + of(Array.get(array, i), depth - 1);
        }
        return hash;
    }

    private static int ofMatrix(Matrix matrix) {
        try {
            return matrix.isBuffer() || (long) matrix.rows() * matrix.columns() > 4096
                    ? 3
                    : Arrays.hashCode(matrix.toArray());
        } catch (IllegalStateException | Verdict.Planted unreadable) {
            return 4;
        }
    }

    private static int ofParameters(Parameters parameters) {
        try {
            return parameters.names().stream()
                    .mapToInt(name -> 31 * name.hashCode() + ofMatrix(parameters.get(name)))
                    .sum();
        } catch (IllegalStateException | Verdict.Planted unreadable) {
            return 5;
        }
    }

    private static int ofRecord(Object value, int depth) {
        int hash = 7;
        for (RecordComponent component : value.getClass().getRecordComponents()) {
            try {
                component.getAccessor().setAccessible(true);
                hash = 31 * hash + of(component.getAccessor().invoke(value), depth - 1);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        return hash;
    }
}
