package org.moe4j.checkpoint.safetensors;

import java.nio.ByteBuffer;
import java.util.List;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;

/**
 * A tensor to be written: what it is, and where its bytes come from, which are asked for piece by piece.
 *
 * @param name in the file
 * @param type of its numbers
 * @param shape sizes, outermost first
 * @param source of its bytes
 */
public record TensorContent(String name, ElementType type, List<Long> shape, Source source) {
    /** Gives the bytes of a tensor. */
    public interface Source {
        /**
         * Some of the numbers as they are stored.
         *
         * @param from index of the first, in row-major order
         * @param count how many
         * @param into little-endian, with room for just as many; filled
         * @throws IllegalArgumentException for numbers that the tensor does not have, or too little room
         */
        void write(long from, int count, ByteBuffer into);

        /**
         * What a source checks before it writes.
         *
         * @param type of the numbers that it writes
         * @param from index of the first
         * @param count how many
         * @param into where they go
         * @throws IllegalArgumentException for a negative {@code from} or {@code count}, or too little room
         */
        static void check(ElementType type, long from, int count, ByteBuffer into) {
            if (from < 0 || from > Long.MAX_VALUE - Integer.MAX_VALUE) {
                throw Require.expected("from", "an index of a number", from);
            }
            Require.atLeast("count", count, 0);
            if (into.remaining() < (long) count * type.bytes()) {
                throw Require.expected(
                        "into",
                        "room for " + count + " numbers of " + type + ", " + (long) count * type.bytes() + " bytes",
                        into.remaining());
            }
        }
    }

    /**
     * Copies and checks the shape.
     *
     * @param name in the file
     * @param type of its numbers
     * @param shape sizes, outermost first
     * @param source of its bytes
     * @throws IllegalArgumentException for {@code name} other than a name of a tensor or {@code shape} other than sizes of at
     *     least 0
     */
    public TensorContent {
        shape = List.copyOf(shape);
        if (name.isEmpty() || name.equals(Header.METADATA)) {
            throw Require.expected("name", "a name of a tensor", "\"" + name + "\"");
        }
        for (long size : shape) {
            if (size < 0) {
                throw Require.expected("shape", "sizes of at least 0", shape);
            }
        }
        bytes(type, shape);
    }

    private static long bytes(ElementType type, List<Long> shape) {
        try {
            return shape.stream().reduce((long) type.bytes(), Math::multiplyExact);
        } catch (ArithmeticException tooMany) {
            throw Require.expected("shape", "fewer than 2^63 bytes", shape + " of " + type);
        }
    }

    /**
     * The bytes of another file's tensor as they are.
     *
     * @param tensor of an open file
     * @return the same tensor
     */
    public static TensorContent of(StoredTensor tensor) {
        TensorInfo info = tensor.info();
        return new TensorContent(info.name(), info.type(), info.shape(), (from, count, into) -> {
            byte[] bytes = new byte[into.remaining()];
            tensor.readBytes(from, bytes, count);
            into.put(bytes);
        });
    }

    /**
     * A matrix whose rows are converted, rounded to the nearest where the type is narrower.
     *
     * @param name in the file
     * @param type F64, F32, F16 or BF16
     * @param rows R
     * @param columns C
     * @param source gives the rows
     * @return a tensor of shape [R, C]
     */
    public static TensorContent of(String name, ElementType type, int rows, int columns, RowSource source) {
        return ofRows(name, type, List.of((long) rows, (long) columns), source);
    }

    /**
     * A tensor whose numbers are converted, rounded to the nearest where the type is narrower.
     *
     * @param name in the file
     * @param type F64, F32, F16 or BF16
     * @param shape sizes, outermost first
     * @param source gives its numbers in rows of the innermost size, as many rows as the product of the others
     * @return the tensor
     */
    public static TensorContent ofRows(String name, ElementType type, List<Long> shape, RowSource source) {
        long columns = shape.isEmpty() ? 1 : shape.get(shape.size() - 1);
        if (columns < 0 || columns > Integer.MAX_VALUE - 8) {
            throw Require.expected("shape", "a last size of 0..2^31 - 9", shape);
        }
        return new TensorContent(name, type, shape, new RowBytes(type, (int) columns, source));
    }

    /**
     * A tensor of numbers times a factor: the product is rounded to {@code double} and then, once, to the type.
     *
     * @param name in the file
     * @param type F64, F32, F16 or BF16
     * @param shape sizes, outermost first
     * @param numbers of the tensor
     * @param factor finite
     * @param rounding gets what storing does to them
     * @return the tensor, whose numbers have to be finite
     */
    public static TensorContent ofNumbers(
            String name, ElementType type, List<Long> shape, Numbers numbers, double factor, StoredRounding rounding) {
        RowBytes.require(type);
        return new TensorContent(name, type, shape, new NumberBytes(name, type, numbers, factor, rounding));
    }

    /**
     * How long it is in a file.
     *
     * @return bytes
     */
    public long bytes() {
        return bytes(type, shape);
    }
}
