package org.moe4j.checkpoint.safetensors;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Numbers of every type, from little-endian bytes to {@code float} and {@code double}. */
final class Elements {
    private Elements() {}

    /** Reads {@code count} numbers from where the bytes stand. */
    static void read(ElementType type, ByteBuffer bytes, float[] into, int at, int count) {
        switch (type) {
            case F32 -> bytes.asFloatBuffer().get(into, at, count);
            case BF16 -> {
                ShortBuffer stored = bytes.asShortBuffer();
                for (int i = 0; i < count; i++) {
                    into[at + i] = SmallFloats.bfloat16(stored.get(i));
                }
            }
            case F16 -> {
                ShortBuffer stored = bytes.asShortBuffer();
                for (int i = 0; i < count; i++) {
                    into[at + i] = SmallFloats.float16(stored.get(i));
                }
            }
            case I64 -> {
                LongBuffer stored = bytes.asLongBuffer();
                for (int i = 0; i < count; i++) {
                    into[at + i] = stored.get(i); // at once, as a double between would round twice
                }
            }
            default -> {
                int size = type.bytes();
                int from = bytes.position();
                for (int i = 0; i < count; i++) {
                    into[at + i] = (float) value(type, bytes, from + i * size);
                }
            }
        }
    }

    /** Reads {@code count} numbers from where the bytes stand. */
    static void read(ElementType type, ByteBuffer bytes, double[] into, int at, int count) {
        if (type == ElementType.F64) {
            bytes.asDoubleBuffer().get(into, at, count);
            return;
        }
        int size = type.bytes();
        int from = bytes.position();
        for (int i = 0; i < count; i++) {
            into[at + i] = value(type, bytes, from + i * size);
        }
    }

    private static double value(ElementType type, ByteBuffer bytes, int at) {
        return switch (type) {
            case F64 -> bytes.getDouble(at);
            case F32 -> bytes.getFloat(at);
            case F16 -> SmallFloats.float16(bytes.getShort(at));
            case BF16 -> SmallFloats.bfloat16(bytes.getShort(at));
            case F8_E4M3 -> SmallFloats.e4m3(bytes.get(at));
            case F8_E5M2 -> SmallFloats.e5m2(bytes.get(at));
            case I64 -> bytes.getLong(at);
            case I32 -> bytes.getInt(at);
            case I16 -> bytes.getShort(at);
            case I8 -> bytes.get(at);
            case U8 -> Byte.toUnsignedInt(bytes.get(at));
            case BOOL -> bytes.get(at) == 0 ? 0 : 1;
        };
    }
}
