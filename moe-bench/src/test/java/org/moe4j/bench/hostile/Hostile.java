package org.moe4j.bench.hostile;

import java.io.IOException;
import java.lang.reflect.Array;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
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
import java.util.TreeMap;
import java.util.function.Function;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;

/** What no caller should pass, by type of the parameter. */
final class Hostile {
    private static final List<Object> INTS =
            List.of(-1, 0, 1, 5, 65_536, 46_341, 1 << 30, Integer.MAX_VALUE - 1, Integer.MAX_VALUE, Integer.MIN_VALUE);
    private static final List<Object> LONGS =
            List.of(-1L, 0L, 1L, 1L << 31, 1L << 32, 1L << 62, Long.MAX_VALUE - 1, Long.MAX_VALUE, Long.MIN_VALUE);
    private static final List<Object> DOUBLES = List.of(
            Double.NaN,
            Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY,
            -1.0,
            0.0,
            -0.0,
            Double.MIN_VALUE,
            Double.MAX_VALUE,
            -Double.MAX_VALUE,
            1e18);
    private static final List<String> TEXTS = List.of(
            "",
            "nosuch",
            "a\0b",
            "../../x",
            "x".repeat(70_000),
            "\ud800",
            " ",
            "-1",
            "1e400",
            "[",
            "a: expected b but was c");

    private final Shelf odd;
    private final List<Path> paths;

    /**
     * Hostile values.
     *
     * @param odd what became of hostile arguments so far, and what is closed: by type
     * @param paths of files that are none, or not what they should be
     */
    Hostile(Shelf odd, List<Path> paths) {
        this.odd = odd;
        this.paths = paths;
    }

    /** Matrices that do not fit: of other shapes, with numbers that are none, closed, and one of another backend. */
    static List<Matrix> matrices(Backend backend, Backend other) {
        List<Matrix> all = new ArrayList<>();
        for (int[] shape : new int[][] {{0, 4}, {4, 0}, {3, 4}, {4, 3}, {5, 5}, {1, 1}}) {
            all.add(backend.matrix(shape[0], shape[1], new double[shape[0] * shape[1]]));
        }
        for (double number : new double[] {Double.NaN, Double.POSITIVE_INFINITY, 1e300, 3e38, 0}) {
            double[] numbers = new double[16];
            numbers[5] = number;
            all.add(backend.matrix(4, 4, numbers));
        }
        all.add(other.matrix(4, 4, new double[16]));
        all.add(backend.buffer(3, 3));
        Matrix closed = backend.matrix(4, 4, new double[16]);
        closed.close();
        all.add(closed);
        return all;
    }

    /** Paths of files that are absent, empty, cut off, of other content, or folders. */
    static List<Path> files(Path sandbox, Path right) throws IOException {
        Path folder = Files.createDirectories(sandbox.resolve("hostile"));
        byte[] bytes = Files.readAllBytes(right);
        byte[] changed = bytes.clone();
        changed[3] = 1;
        return List.of(
                folder,
                folder.resolve("absent"),
                folder.resolve("absent").resolve("absent"),
                Files.write(folder.resolve("empty"), new byte[0]),
                Files.write(folder.resolve("cut.safetensors"), Arrays.copyOf(bytes, bytes.length - 1)),
                Files.write(folder.resolve("long.safetensors"), changed),
                Files.writeString(folder.resolve("text.properties"), "name = \\u00zz\n= =\n"),
                Files.writeString(folder.resolve("config.json"), "{\"model_type\": [[["),
                folder.resolve("empty").resolve("below"),
                Path.of(""));
    }

    /** Values of a type, made from a right one where there is one. */
    List<Object> of(Type type, Object right) {
        Class<?> raw = Draw.raw(type);
        List<Object> all = new ArrayList<>(ofClass(raw));
        if (!raw.isPrimitive()) {
            all.add(null);
        }
        if (right != null && raw.isArray()) {
            ofArray(right, all);
        } else if (type instanceof ParameterizedType generic) {
            ofGeneric(generic, right, all);
        }
        all.addAll(odd.of(raw));
        boolean isCallback = raw.getName().startsWith("java.util.function");
        if (raw.isInterface() && !raw.isSealed() && (isCallback || !odd.of(raw).isEmpty())) {
            all.add(throwing(raw));
        }
        return all;
    }

    private List<? extends Object> ofClass(Class<?> type) {
        if (type == int.class || type == Integer.class) {
            return INTS;
        } else if (type == long.class || type == Long.class) {
            return LONGS;
        } else if (type == double.class || type == Double.class) {
            return DOUBLES;
        } else if (type == boolean.class) {
            return List.of(true, false);
        } else if (type == char.class) {
            return List.of('\0', '*', '\ud800');
        } else if (type == float.class) {
            return List.of(Float.NaN);
        } else if (type == byte.class) {
            return List.of((byte) -1);
        } else if (type == String.class) {
            return TEXTS;
        } else if (type == Path.class) {
            return paths;
        } else if (type == FloatBuffer.class) {
            return List.of(
                    FloatBuffer.allocate(0),
                    FloatBuffer.allocate(15),
                    FloatBuffer.allocate(16).asReadOnlyBuffer(),
                    ByteBuffer.allocateDirect(70).asFloatBuffer(),
                    FloatBuffer.wrap(new float[] {Float.NaN, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
        } else if (type == OptionalInt.class) {
            return INTS.stream().map(number -> OptionalInt.of((int) number)).toList();
        } else if (type == OptionalLong.class) {
            return LONGS.stream().map(number -> OptionalLong.of((long) number)).toList();
        } else if (type == OptionalDouble.class) {
            return DOUBLES.stream()
                    .map(number -> OptionalDouble.of((double) number))
                    .toList();
        }
        return type.isEnum() ? List.of(type.getEnumConstants()) : List.of();
    }

    private void ofArray(Object right, List<Object> all) {
        int length = Array.getLength(right);
        Class<?> element = right.getClass().getComponentType();
        for (int other : new int[] {0, Math.max(0, length - 1), length + 1, 1000}) {
            Object array = Array.newInstance(element, other);
            System.arraycopy(right, 0, array, 0, Math.min(length, other));
            all.add(array);
        }
        if (length > 0) {
            for (Object value : element.isPrimitive() ? ofClass(element) : of(element, null)) {
                Object array = Array.newInstance(element, length);
                System.arraycopy(right, 0, array, 0, length);
                Array.set(array, length / 2, value);
                all.add(array);
            }
        }
    }

    private void ofGeneric(ParameterizedType type, Object right, List<Object> all) {
        Class<?> raw = Draw.raw(type);
        Type[] arguments = type.getActualTypeArguments();
        if (raw == Optional.class) {
            all.add(Optional.empty());
            of(arguments[0], null).stream()
                    .filter(value -> value != null)
                    .map(Optional::of)
                    .forEach(all::add);
        } else if (right instanceof Map<?, ?> map) {
            ofMap(map, arguments, all);
        } else if (right instanceof Collection<?> several) {
            Function<List<Object>, Object> copy = raw == Set.class ? HashSet::new : list -> list;
            all.add(copy.apply(List.of()));
            List<Object> list = new ArrayList<>(several);
            if (!list.isEmpty()) {
                all.add(copy.apply(list.subList(1, list.size())));
                all.add(copy.apply(new ArrayList<>(java.util.Collections.nCopies(1000, list.get(0)))));
            }
            for (Object value : of(arguments[0], null)) {
                List<Object> changed = new ArrayList<>(list);
                if (changed.isEmpty()) {
                    changed.add(value);
                } else {
                    changed.set(changed.size() - 1, value);
                }
                all.add(copy.apply(changed));
            }
        }
    }

    private void ofMap(Map<?, ?> map, Type[] arguments, List<Object> all) {
        all.add(Map.of());
        for (Object key : of(arguments[0], null)) {
            Map<Object, Object> changed = map instanceof TreeMap ? new TreeMap<>() : new HashMap<>();
            changed.putAll(map);
            if (key != null || !(changed instanceof TreeMap)) {
                changed.put(key, map.isEmpty() ? null : map.values().iterator().next());
                all.add(changed);
            }
        }
        if (!map.isEmpty()) {
            for (Object value : of(arguments[1], map.values().iterator().next())) {
                Map<Object, Object> changed = new HashMap<>(map);
                changed.put(map.keySet().iterator().next(), value);
                all.add(changed);
            }
        }
    }

    /** Something of the caller's own that fails when it is asked anything. */
    private static Object throwing(Class<?> type) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            return switch (method.getName()) {
                case "hashCode" -> System.identityHashCode(proxy);
                case "equals" -> proxy == arguments[0];
                case "toString" -> "a " + type.getSimpleName() + " that fails";
                default -> throw new Verdict.Planted();
            };
        });
    }
}
