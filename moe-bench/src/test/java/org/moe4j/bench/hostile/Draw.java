package org.moe4j.bench.hostile;

import java.lang.reflect.Array;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankWeights;

/** Values of any parameter type that may well be right: from the shelf, from few small numbers and from known words. */
final class Draw {
    private static final int[] INTS = {0, 1, 2, 3, 4};
    private static final double[] DOUBLES = {0.5, 1, 0.25, 2, 1e-6, 0};
    private static final int[][] INT_ARRAYS = {
        {0, 1, 2, 3}, {1, 1, 1, 1}, {2, 2}, {0}, {4}, {0, 1, 1, 2, 2, 3, 3, 0}, {1, 2, 0, 1}, {}
    };

    private final Shelf shelf;
    private final SplittableRandom random;
    private final Words words;
    private int fresh;

    Draw(Shelf shelf, SplittableRandom random, Words words) {
        this.shelf = shelf;
        this.random = random;
        this.words = words;
    }

    SplittableRandom random() {
        return random;
    }

    <T> T oneOf(List<T> several) {
        return several.get(random.nextInt(several.size()));
    }

    /** A value that fits the type, if there is one on the shelf. */
    Optional<Object> value(Type type) {
        if (type instanceof ParameterizedType generic) {
            return generic((Class<?>) generic.getRawType(), generic.getActualTypeArguments());
        } else if (type instanceof WildcardType wildcard) {
            return value(wildcard.getUpperBounds()[0]);
        } else if (type instanceof TypeVariable<?> variable) {
            return value(variable.getBounds()[0]);
        } else if (type instanceof GenericArrayType array) {
            return array(raw(array.getGenericComponentType()), array.getGenericComponentType());
        }
        Class<?> raw = (Class<?>) type;
        return raw.isPrimitive() ? Optional.of(primitive(raw)) : object(raw);
    }

    static Class<?> raw(Type type) {
        if (type instanceof ParameterizedType generic) {
            return (Class<?>) generic.getRawType();
        } else if (type instanceof WildcardType wildcard) {
            return raw(wildcard.getUpperBounds()[0]);
        } else if (type instanceof TypeVariable<?> variable) {
            return raw(variable.getBounds()[0]);
        } else if (type instanceof GenericArrayType array) {
            return raw(array.getGenericComponentType()).arrayType();
        }
        return (Class<?>) type;
    }

    Path freshPath() {
        return words.sandbox().resolve("new" + fresh++);
    }

    private Object primitive(Class<?> type) {
        if (type == int.class) {
            return INTS[random.nextInt(INTS.length)];
        } else if (type == long.class) {
            return (long) INTS[random.nextInt(INTS.length)];
        } else if (type == double.class) {
            return DOUBLES[random.nextInt(DOUBLES.length)];
        } else if (type == boolean.class) {
            return random.nextBoolean();
        } else if (type == char.class) {
            return "*+/|".charAt(random.nextInt(4));
        }
        return type == byte.class ? (Object) (byte) 1 : 0.5f;
    }

    private Optional<Object> object(Class<?> type) {
        if (type.isEnum()) {
            return Optional.of(oneOf(List.of(type.getEnumConstants())));
        } else if (type.isArray()) {
            return array(type.getComponentType(), type.getComponentType());
        } else if (type == String.class) {
            return Optional.of(words.any(random));
        } else if (type == Path.class && random.nextInt(3) == 0) {
            return Optional.of(freshPath());
        } else if (type == Integer.class || type == Enum.class) {
            return Optional.of(type == Enum.class ? Thread.State.NEW : primitive(int.class));
        } else if (type == Long.class) {
            return Optional.of(primitive(long.class));
        } else if (type == Double.class) {
            return Optional.of(primitive(double.class));
        } else if (type == IllegalArgumentException.class) {
            return Optional.of(new IllegalArgumentException("experts: expected another number but was 3"));
        } else if (type == OptionalInt.class) {
            return Optional.of(random.nextBoolean() ? OptionalInt.empty() : OptionalInt.of((int) primitive(int.class)));
        } else if (type == OptionalLong.class) {
            return Optional.of(
                    random.nextBoolean() ? OptionalLong.empty() : OptionalLong.of((long) primitive(long.class)));
        } else if (type == OptionalDouble.class) {
            return Optional.of(
                    random.nextBoolean()
                            ? OptionalDouble.empty()
                            : OptionalDouble.of((double) primitive(double.class)));
        }
        List<Object> known = shelf.of(type);
        return known.isEmpty() ? Optional.empty() : Optional.of(oneOf(known));
    }

    private Optional<Object> array(Class<?> raw, Type element) {
        if (raw == int.class) {
            return Optional.of(INT_ARRAYS[random.nextInt(INT_ARRAYS.length)].clone());
        }
        int length = oneOf(List.of(4, 4, 4, 8, 16, 2, 1, 0));
        Object array = Array.newInstance(raw, length);
        for (int i = 0; i < length; i++) {
            Optional<Object> value = value(element);
            if (value.isEmpty()) {
                return Optional.empty();
            }
            Array.set(array, i, value.get());
        }
        return Optional.of(array);
    }

    private Optional<Object> generic(Class<?> type, Type[] arguments) {
        if (type == Optional.class) {
            return random.nextBoolean()
                    ? Optional.of(Optional.empty())
                    : value(arguments[0]).map(Optional::of);
        } else if (Map.class.isAssignableFrom(type)) {
            return map(type, arguments);
        } else if (type == Set.class || type == SortedSet.class) {
            return several(arguments[0], random.nextInt(3))
                    .map(all -> type == Set.class ? new HashSet<>(all) : new TreeSet<>(all));
        } else if (Collection.class.isAssignableFrom(type)) {
            return several(arguments[0], oneOf(List.of(0, 1, 2, 4, 4))).map(all -> (Object) all);
        }
        return object(type);
    }

    private Optional<List<Object>> several(Type element, int count) {
        List<Object> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Optional<Object> value = value(element);
            if (value.isEmpty()) {
                return Optional.empty();
            }
            all.add(value.get());
        }
        return Optional.of(all);
    }

    private Optional<Object> map(Class<?> type, Type[] arguments) {
        List<Object> weights = shelf.of(BankWeights.class);
        if (arguments[0] == BankPart.class
                && raw(arguments[1]) == List.class
                && !weights.isEmpty()
                && random.nextInt(4) == 0) {
            return Optional.of(((BankWeights) weights.get(0)).parts());
        }
        if (arguments[0] == String.class && arguments[1] == String.class && random.nextInt(4) == 0) {
            return Optional.of(words.settings());
        }
        Map<Object, Object> map = new HashMap<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            Optional<Object> key = value(arguments[0]);
            Optional<Object> value = value(arguments[1]);
            if (key.isEmpty() || value.isEmpty()) {
                return Optional.empty();
            }
            map.put(key.get(), value.get());
        }
        return Optional.of(type == SortedMap.class ? new TreeMap<>(map) : map);
    }
}
