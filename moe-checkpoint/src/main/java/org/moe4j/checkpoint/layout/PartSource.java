package org.moe4j.checkpoint.layout;

import java.util.function.IntToDoubleFunction;
import org.moe4j.core.backend.RowSource;

/**
 * The rows of one part, wherever its elements stand among the values of a tensor. Several threads may ask for rows, each for its
 * own.
 */
final class PartSource implements RowSource {
    private final TensorPattern.Strides strides;
    private final String name;
    private final Gather<float[]> floats;
    private final Gather<double[]> doubles;

    /**
     * A source.
     *
     * @param name of the tensor, for messages
     */
    PartSource(Values values, TensorPattern.Strides strides, int rows, int columns, String name) {
        this.strides = strides;
        this.name = name;
        floats = new Gather.OfFloats(values, strides, rows, columns);
        doubles = new Gather.OfDoubles(values, strides, rows, columns);
    }

    @Override
    public void read(int row, float[] into) {
        floats.row(row, into);
        float largest = 0; // NaN as soon as one is; a loop without a branch is a fraction of the time
        for (int j = 0; j < into.length; j++) {
            largest = Math.max(largest, Math.abs(into[j]));
        }
        if (!Float.isFinite(largest)) {
            throw notFinite(row, into.length, j -> into[j]);
        }
    }

    @Override
    public void read(int row, double[] into) {
        doubles.row(row, into);
        double largest = 0;
        for (int j = 0; j < into.length; j++) {
            largest = Math.max(largest, Math.abs(into[j]));
        }
        if (!Double.isFinite(largest)) {
            throw notFinite(row, into.length, j -> into[j]);
        }
    }

    private IllegalArgumentException notFinite(int row, int columns, IntToDoubleFunction values) {
        int column = 0;
        while (column < columns - 1 && Double.isFinite(values.applyAsDouble(column))) {
            column++;
        }
        long at = strides.offset() + row * strides.rows() + column * strides.columns();
        return new IllegalArgumentException(
                name + ": expected finite numbers but number " + at + " is " + values.applyAsDouble(column));
    }
}
