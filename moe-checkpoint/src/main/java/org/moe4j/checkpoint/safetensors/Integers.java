package org.moe4j.checkpoint.safetensors;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.moe4j.core.internal.Require;

/** Whole numbers of every type, from little-endian bytes to {@code int}; the loops are over arrays of one type. */
final class Integers {
    private static final int PIECE = 2048;

    private Integers() {}

    /** Reads {@code count} numbers from where the bytes stand; those beyond {@code int} become the nearest. */
    static void read(ElementType type, ByteBuffer bytes, int[] into, int at, int count) {
        switch (type) {
            case I64 -> readLongs(bytes.asLongBuffer(), into, at, count);
            case U64 -> {
                readLongs(bytes.asLongBuffer(), into, at, count);
                beyond(into, at, count);
            }
            case I32 -> bytes.asIntBuffer().get(into, at, count);
            case U32 -> {
                bytes.asIntBuffer().get(into, at, count);
                beyond(into, at, count);
            }
            case I16 -> readShorts(-1, bytes.asShortBuffer(), into, at, count);
            case U16 -> readShorts(0xffff, bytes.asShortBuffer(), into, at, count);
            case I8 -> readBytes(-1, bytes.slice(), into, at, count);
            case U8, BOOL -> readBytes(0xff, bytes.slice(), into, at, count);
            default -> throw Require.expected("type", "a type of whole numbers", type);
        }
    }

    /** Unsigned numbers that a signed one reads as negative are too large for {@code int}. */
    private static void beyond(int[] numbers, int at, int count) {
        for (int i = at; i < at + count; i++) {
            numbers[i] = numbers[i] < 0 ? Integer.MAX_VALUE : numbers[i];
        }
    }

    private static void readLongs(LongBuffer stored, int[] into, int at, int count) {
        long[] piece = new long[Math.min(PIECE, count)];
        for (int done = 0; done < count; done += piece.length) {
            int part = Math.min(piece.length, count - done);
            stored.get(piece, 0, part);
            for (int i = 0; i < part; i++) {
                into[at + done + i] = (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, piece[i]));
            }
        }
    }

    private static void readShorts(int bits, ShortBuffer stored, int[] into, int at, int count) {
        short[] piece = new short[Math.min(PIECE, count)];
        for (int done = 0; done < count; done += piece.length) {
            int part = Math.min(piece.length, count - done);
            stored.get(piece, 0, part);
            for (int i = 0; i < part; i++) {
                into[at + done + i] = piece[i] & bits;
            }
        }
    }

    private static void readBytes(int bits, ByteBuffer stored, int[] into, int at, int count) {
        byte[] piece = new byte[Math.min(PIECE, count)];
        for (int done = 0; done < count; done += piece.length) {
            int part = Math.min(piece.length, count - done);
            stored.get(piece, 0, part);
            for (int i = 0; i < part; i++) {
                into[at + done + i] = piece[i] & bits;
            }
        }
    }
}
