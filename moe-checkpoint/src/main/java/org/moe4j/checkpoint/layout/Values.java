package org.moe4j.checkpoint.layout;

import org.moe4j.checkpoint.safetensors.StoredTensor;

/** The numbers of a tensor as the model means them, whatever they are stored as. */
interface Values {
    /** Values that follow one another in row-major order. */
    void read(long from, double[] into, int at, int count);

    /** The same, each rounded once. */
    default void read(long from, float[] into, int at, int count) {
        double[] wide = new double[count];
        read(from, wide, 0, count);
        for (int i = 0; i < count; i++) {
            into[at + i] = (float) wide[i];
        }
    }

    /** Each stored number as itself. */
    static Values plain(StoredTensor tensor) {
        return new Values() {
            @Override
            public void read(long from, double[] into, int at, int count) {
                tensor.read(from, into, at, count);
            }

            @Override
            public void read(long from, float[] into, int at, int count) {
                tensor.read(from, into, at, count);
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
        int blocksInRow = (columns + block - 1) / block;
        int blocksInColumn = (rows + block - 1) / block;
        return (from, into, at, count) -> {
            tensor.read(from, into, at, count);
            double[] scale = new double[1];
            for (int i = 0; i < count; ) {
                long index = from + i;
                int column = (int) (index % columns);
                long row = index / columns;
                long matrix = row / rows;
                long blockRow = matrix * blocksInColumn + row % rows / block;
                scales.read(blockRow * blocksInRow + column / block, scale, 0, 1);
                int end = (int) Math.min(count, (long) i + Math.min(columns, (column / block + 1) * block) - column);
                for (; i < end; i++) {
                    into[at + i] *= scale[0];
                }
            }
        };
    }

    /**
     * MXFP4: two numbers in a byte, the low four bits first, 32 numbers under one scale {@code 2^(s − 127)}; a scale of 255 is NaN.
     * Source: OCP Microscaling Formats specification 1.0, Sections 5.3 and 5.4.
     */
    static Values mxfp4(StoredTensor blocks, StoredTensor scales) {
        return (from, into, at, count) -> {
            long firstByte = from / 2;
            byte[] bytes = new byte[(int) ((from + count + 1) / 2 - firstByte)];
            blocks.readBytes(firstByte, bytes, bytes.length);
            double[] scale = new double[1];
            for (int i = 0; i < count; i++) {
                long index = from + i;
                if (i == 0 || index % Mxfp4.BLOCK == 0) {
                    scales.read(index / Mxfp4.BLOCK, scale, 0, 1);
                }
                int pair = bytes[(int) (index / 2 - firstByte)];
                into[at + i] = Mxfp4.value(index % 2 == 0 ? pair & 0xf : (pair >> 4) & 0xf, (int) scale[0]);
            }
        };
    }
}
