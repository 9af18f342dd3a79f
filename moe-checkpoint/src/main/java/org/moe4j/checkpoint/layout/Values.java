package org.moe4j.checkpoint.layout;

import org.moe4j.checkpoint.safetensors.StoredTensor;

/** The numbers of a tensor as the model means them, whatever they are stored as. */
interface Values {
    /** Values that follow one another in row-major order. */
    void read(long from, double[] into, int at, int count);

    /** The same, each rounded once. False unless all are finite; it may be false where they are. */
    default boolean read(long from, float[] into, int at, int count) {
        double[] wide = new double[count];
        read(from, wide, 0, count);
        for (int i = 0; i < count; i++) {
            into[at + i] = (float) wide[i];
        }
        return false;
    }

    /** Each stored number as itself. */
    static Values plain(StoredTensor tensor) {
        return new Values() {
            @Override
            public void read(long from, double[] into, int at, int count) {
                tensor.read(from, into, at, count);
            }

            @Override
            public boolean read(long from, float[] into, int at, int count) {
                return tensor.read(from, into, at, count);
            }
        };
    }

    /**
     * Each stored number times the scale of its block; blocks tile the last two axes, the last ones may be smaller. The product of
     * a number of 8 bits and one of 32 is exact in {@code double}.
     *
     * @param rows elements of the last but one axis
     * @param columns elements of the last axis
     * @param block numbers in a row and in a column of a block
     */
    static Values blocks(StoredTensor tensor, StoredTensor scales, int rows, int columns, int block) {
        return new ScaledBlocks(tensor, scales, rows, columns, block);
    }

    /**
     * MXFP4: two numbers in a byte, the low four bits first, 32 numbers under one scale {@code 2^(s − 127)}; a scale of 255 is NaN.
     * Source: OCP Microscaling Formats specification 1.0, Sections 5.3 and 5.4.
     */
    static Values mxfp4(StoredTensor blocks, StoredTensor scales) {
        return new Mxfp4(blocks, scales);
    }
}
