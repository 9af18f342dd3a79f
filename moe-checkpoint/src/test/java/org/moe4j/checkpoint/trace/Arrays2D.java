package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.moe4j.checkpoint.safetensors.ElementType;

/** Files of matrices, put together byte by byte: nothing here is of the classes under test. */
final class Arrays2D {
    private final StringBuilder header = new StringBuilder("{");
    private final List<byte[]> data = new ArrayList<>();
    private long at;

    /** A tensor of a file of safetensors. */
    Arrays2D with(String name, ElementType type, String shape, double... values) {
        byte[] bytes = bytes(type, values);
        header.append(header.length() > 1 ? "," : "")
                .append('"')
                .append(name)
                .append("\":{\"dtype\":\"")
                .append(type);
        header.append("\",\"shape\":[")
                .append(shape)
                .append("],\"data_offsets\":[")
                .append(at)
                .append(',');
        at += bytes.length;
        header.append(at).append("]}");
        data.add(bytes);
        return this;
    }

    Arrays2D withMetadata(String key, String value) {
        header.append(header.length() > 1 ? "," : "");
        header.append("\"__metadata__\":{\"")
                .append(key)
                .append("\":\"")
                .append(value)
                .append("\"}");
        return this;
    }

    Path write(Path file) throws IOException {
        byte[] json = (header + "}").getBytes(StandardCharsets.UTF_8);
        ByteBuffer all = ByteBuffer.allocate((int) (8 + json.length + at)).order(ByteOrder.LITTLE_ENDIAN);
        all.putLong(json.length).put(json);
        data.forEach(all::put);
        return Files.write(file, all.array());
    }

    private static final Map<ElementType, String> DESCR = Map.of(
            ElementType.F64, "<f8",
            ElementType.F32, "<f4",
            ElementType.F16, "<f2",
            ElementType.I64, "<i8",
            ElementType.I32, "<i4",
            ElementType.I16, "<i2",
            ElementType.I8, "|i1",
            ElementType.U8, "|u1",
            ElementType.BOOL, "|b1");

    /** An array as NumPy saves it. */
    static Path numpy(Path file, ElementType type, String shape, double... values) throws IOException {
        String text = "{'descr': '" + DESCR.get(type) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
        return Files.write(file, numpy(1, text, bytes(type, values)));
    }

    /** Any header and any bytes behind it. */
    static byte[] numpy(int version, String header, byte[] numbers) {
        int before = 6 + 2 + (version == 1 ? 2 : 4);
        StringBuilder padded = new StringBuilder(header);
        while ((before + padded.length() + 1) % 64 != 0) {
            padded.append(' ');
        }
        padded.append('\n');
        ByteBuffer all =
                ByteBuffer.allocate(before + padded.length() + numbers.length).order(ByteOrder.LITTLE_ENDIAN);
        all.put((byte) 0x93)
                .put("NUMPY".getBytes(StandardCharsets.US_ASCII))
                .put((byte) version)
                .put((byte) 0);
        if (version == 1) {
            all.putShort((short) padded.length());
        } else {
            all.putInt(padded.length());
        }
        return all.put(padded.toString().getBytes(StandardCharsets.ISO_8859_1))
                .put(numbers)
                .array();
    }

    /** Numbers that the type holds. */
    static byte[] bytes(ElementType type, double... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * type.bytes()).order(ByteOrder.LITTLE_ENDIAN);
        for (double value : values) {
            switch (type) {
                case F64 -> bytes.putDouble(value);
                case F32 -> bytes.putFloat((float) value);
                case F16 -> bytes.putShort(half(value));
                case BF16 -> bytes.putShort((short) (Float.floatToRawIntBits((float) value) >>> 16));
                case I64, U64 -> bytes.putLong((long) value);
                case I32, U32 -> bytes.putInt((int) value);
                case I16, U16 -> bytes.putShort((short) value);
                default -> bytes.put((byte) (int) value);
            }
        }
        return bytes.array();
    }

    /** Of a number between 2^-14 and 2^15 with eleven bits, 0 or not a number. */
    private static short half(double value) {
        if (value == 0 || Double.isNaN(value)) {
            return (short) (value == 0 ? 0 : 0x7e00);
        }
        int exponent = Math.getExponent(value);
        int mantissa = (int) (Math.scalb(Math.abs(value), 10 - exponent) - 1024);
        return (short) ((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | mantissa);
    }

    /** K different experts for each token, in any order. */
    static double[] experts(long seed, int tokens, int topK, int experts) {
        Random random = new Random(seed);
        double[] chosen = new double[tokens * topK];
        for (int t = 0; t < tokens; t++) {
            List<Integer> all = new ArrayList<>();
            for (int e = 0; e < experts; e++) {
                all.add(e);
            }
            Collections.shuffle(all, random);
            for (int rank = 0; rank < topK; rank++) {
                chosen[t * topK + rank] = all.get(rank);
            }
        }
        return chosen;
    }

    /** Numbers of few bits, which every floating-point type holds. */
    static double[] logits(long seed, int tokens, int experts) {
        return new Random(seed)
                .ints((long) tokens * experts, -127, 128)
                .mapToDouble(i -> i / 32.0)
                .toArray();
    }
}
