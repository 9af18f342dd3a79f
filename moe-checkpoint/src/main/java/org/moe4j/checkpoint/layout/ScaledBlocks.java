package org.moe4j.checkpoint.layout;

import org.moe4j.checkpoint.safetensors.StoredTensor;

/** Numbers times the scale of their block. The scales of a row are read together. */
final class ScaledBlocks implements Values {
    private final StoredTensor tensor;
    private final StoredTensor scales;
    private final int rows;
    private final int columns;
    private final int block;

    ScaledBlocks(StoredTensor tensor, StoredTensor scales, int rows, int columns, int block) {
        this.tensor = tensor;
        this.scales = scales;
        this.rows = rows;
        this.columns = columns;
        this.block = block;
    }

    private interface Part {
        /** Takes so many numbers from one on, which have one scale. */
        void take(int from, int count, double scale);
    }

    @Override
    public void read(long from, double[] into, int at, int count) {
        tensor.read(from, into, at, count);
        forEachBlock(from, count, (first, part, scale) -> {
            for (int i = at + first; i < at + first + part; i++) {
                into[i] *= scale;
            }
        });
    }

    @Override
    public boolean read(long from, float[] into, int at, int count) {
        tensor.read(from, into, at, count);
        forEachBlock(from, count, (first, part, scale) -> {
            if ((float) scale == scale) { // the product is rounded once in either type
                multiply(into, at + first, part, (float) scale);
            } else {
                for (int i = at + first; i < at + first + part; i++) {
                    into[i] = (float) (into[i] * scale);
                }
            }
        });
        float largest = 0; // NaN as soon as one is
        for (int i = at; i < at + count; i++) {
            largest = Math.max(largest, Math.abs(into[i]));
        }
        return Float.isFinite(largest);
    }

    private static void multiply(float[] numbers, int at, int count, float scale) {
        for (int i = at; i < at + count; i++) {
            numbers[i] *= scale;
        }
    }

    private void forEachBlock(long from, int count, Part part) {
        int blocksInRow = (columns + block - 1) / block;
        int blocksInColumn = (rows + block - 1) / block;
        double[] scale = new double[blocksInRow];
        for (int i = 0; i < count; ) {
            int column = (int) ((from + i) % columns);
            long row = (from + i) / columns;
            int inRow = Math.min(count - i, columns - column);
            int first = column / block;
            int last = (column + inRow - 1) / block;
            long blockRow = row / rows * blocksInColumn + row % rows / block;
            scales.read(blockRow * blocksInRow + first, scale, first, last - first + 1);
            for (int b = first; b <= last; b++) {
                int begin = Math.max(column, b * block);
                int end = Math.min(column + inRow, (b + 1) * block);
                part.take(i + begin - column, end - begin, scale[b]);
            }
            i += inRow;
        }
    }
}
