package org.moe4j.checkpoint.safetensors;

import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/** Numbers of every type, from little-endian bytes to {@code float} and {@code double}. */
final class Elements {
    /** Numbers that are copied at once before they are converted: one by one, a buffer checks itself for each. */
    private static final int PIECE = 4096;

    /** Pairs of 16-bit numbers at once: a short array is cleared and copied within the first cache. */
    private static final int PAIRS = 256;

    private Elements() {}

    /**
     * Reads {@code count} numbers from where the bytes stand; these stand where they stood afterwards. True if all are known to be
     * finite.
     */
    static boolean read(ElementType type, ByteBuffer bytes, float[] into, int at, int count) {
        switch (type) {
            case F32 -> bytes.asFloatBuffer().get(into, at, count);
            case BF16, F16 -> {
                return readHalves(type == ElementType.BF16, bytes, into, at, count);
            }
            case F8_E4M3, F8_E5M2 -> {
                float[] table = type == ElementType.F8_E4M3 ? SmallFloats.E4M3 : SmallFloats.E5M2;
                readBytes(table, bytes.slice(), into, at, count);
                return false; // they have a scale, and what they are is known behind it
            }
            case I64 -> {
                LongBuffer stored = bytes.asLongBuffer();
                for (int i = 0; i < count; i++) {
                    into[at + i] = stored.get(i); // at once, as a double between would round twice
                }
            }
            case U64 -> {
                LongBuffer stored = bytes.asLongBuffer();
                for (int i = 0; i < count; i++) {
                    long number = stored.get(i);
                    into[at + i] = number < 0 ? 2f * halved(number) : number;
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
        return Finite.all(into, at, count);
    }

    /** Two numbers are taken out of one {@code int}: a loop over numbers of one width is the faster one. */
    private static boolean readHalves(boolean bfloat16, ByteBuffer bytes, float[] into, int at, int count) {
        int[] pairs = new int[Math.min(PAIRS, count / 2)];
        IntBuffer stored = bytes.asIntBuffer();
        boolean finite = true;
        int done = 0;
        while (count - done > 1) {
            int part = Math.min(pairs.length, (count - done) / 2);
            stored.get(pairs, 0, part);
            if (bfloat16) {
                SmallFloats.bfloat16(pairs, into, at + done, part);
                finite &= Finite.bfloat16(pairs, part);
            } else {
                finite &= SmallFloats.float16(pairs, into, at + done, part);
            }
            done += 2 * part;
        }
        if (done < count) {
            short last = bytes.getShort(bytes.position() + done * Short.BYTES);
            into[at + done] = bfloat16 ? SmallFloats.bfloat16(last) : SmallFloats.float16(last);
            finite &= Float.isFinite(into[at + done]);
        }
        return finite;
    }

    private static void readBytes(float[] table, ByteBuffer bytes, float[] into, int at, int count) {
        byte[] piece = new byte[Math.min(PIECE, count)];
        for (int done = 0; done < count; done += piece.length) {
            int part = Math.min(piece.length, count - done);
            bytes.get(piece, 0, part);
            for (int i = 0; i < part; i++) {
                into[at + done + i] = table[piece[i] & 0xff];
            }
        }
    }

    /** Reads {@code count} numbers from where the bytes stand. */
    static void read(ElementType type, ByteBuffer bytes, double[] into, int at, int count) {
        int size = type.bytes();
        int from = bytes.position();
        switch (type) {
            case F64 -> bytes.asDoubleBuffer().get(into, at, count);
            case F32, BF16, F16, F8_E4M3, F8_E5M2 -> {
                float[] piece = new float[Math.min(PIECE, count)];
                for (int done = 0; done < count; done += piece.length) {
                    int part = Math.min(piece.length, count - done);
                    read(type, bytes.position(from + done * size), piece, 0, part);
                    for (int i = 0; i < part; i++) {
                        into[at + done + i] = piece[i];
                    }
                }
            }
            default -> {
                for (int i = 0; i < count; i++) {
                    into[at + i] = value(type, bytes, from + i * size);
                }
            }
        }
    }

    private static double value(ElementType type, ByteBuffer bytes, int at) {
        return switch (type) {
            case F64 -> bytes.getDouble(at);
            case I64 -> bytes.getLong(at);
            case I32 -> bytes.getInt(at);
            case I16 -> bytes.getShort(at);
            case I8 -> bytes.get(at);
            case U8 -> Byte.toUnsignedInt(bytes.get(at));
            case U16 -> Short.toUnsignedInt(bytes.getShort(at));
            case U32 -> Integer.toUnsignedLong(bytes.getInt(at));
            case U64 -> {
                long number = bytes.getLong(at);
                yield number < 0 ? 2d * halved(number) : number;
            }
            case BOOL -> bytes.get(at) == 0 ? 0 : 1;
            case F32, F16, BF16, F8_E4M3, F8_E5M2 -> throw new IllegalStateException(type.name());
        };
    }

    /** Half of an unsigned number that is too large for a signed one, rounded to odd, so that its rounding is that of the whole. */
    private static long halved(long number) {
        return (number >>> 1) | (number & 1);
    }
}
