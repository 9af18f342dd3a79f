package org.moe4j.checkpoint.layout;

import org.moe4j.checkpoint.safetensors.StoredTensor;

/** The 4-bit numbers of MXFP4: a sign, two bits of exponent, one of mantissa; 32 of them under a scale. */
final class Mxfp4 implements Values {
    /** Numbers under one scale. */
    static final int BLOCK = 32;

    private static final int NAN_SCALE = 255;
    private static final int BIAS = 127;

    private static final double[] NUMBERS = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

    private final StoredTensor blocks;
    private final StoredTensor scales;

    Mxfp4(StoredTensor blocks, StoredTensor scales) {
        this.blocks = blocks;
        this.scales = scales;
    }

    private interface Part {
        /** Takes so many numbers from one on, which have one scale. */
        void take(int from, int count, double scale);
    }

    @Override
    public void read(long from, double[] into, int at, int count) {
        byte[] pairs = pairs(from, count);
        int odd = (int) (from % 2);
        forEachBlock(from, count, (first, part, scale) -> {
            for (int i = first; i < first + part; i++) {
                into[at + i] = NUMBERS[bits(pairs, odd + i)] * scale;
            }
        });
    }

    @Override
    public boolean read(long from, float[] into, int at, int count) {
        byte[] pairs = pairs(from, count);
        int odd = (int) (from % 2);
        float[] scaled = new float[NUMBERS.length];
        forEachBlock(from, count, (first, part, scale) -> {
            for (int i = 0; i < scaled.length; i++) {
                scaled[i] = (float) (NUMBERS[i] * scale);
            }
            int i = first;
            for (; odd == 0 && i % 2 == 0 && i + 1 < first + part; i += 2) { // both of a byte at once
                int pair = pairs[i >> 1];
                into[at + i] = scaled[pair & 0xf];
                into[at + i + 1] = scaled[(pair >> 4) & 0xf];
            }
            for (; i < first + part; i++) {
                into[at + i] = scaled[bits(pairs, odd + i)];
            }
        });
        float largest = 0; // NaN as soon as one is
        for (int i = at; i < at + count; i++) {
            largest = Math.max(largest, Math.abs(into[i]));
        }
        return Float.isFinite(largest);
    }

    private byte[] pairs(long from, int count) {
        byte[] pairs = new byte[(int) ((from + count + 1) / 2 - from / 2)];
        blocks.readBytes(from / 2, pairs, pairs.length);
        return pairs;
    }

    private static int bits(byte[] pairs, int index) {
        return (pairs[index >> 1] >> ((index & 1) << 2)) & 0xf;
    }

    private void forEachBlock(long from, int count, Part part) {
        long first = from / BLOCK;
        byte[] stored = new byte[(int) ((from + count + BLOCK - 1) / BLOCK - first)];
        scales.readBytes(first, stored, stored.length);
        int done = 0;
        for (byte bits : stored) {
            int here = (int) Math.min(count - done, BLOCK - (from + done) % BLOCK);
            part.take(done, here, scale(Byte.toUnsignedInt(bits)));
            done += here;
        }
    }

    /** Exact, for the smallest and the largest too. */
    private static double scale(int bits) {
        return bits == NAN_SCALE ? Double.NaN : Math.scalb(1.0, bits - BIAS);
    }
}
