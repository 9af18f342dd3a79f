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
        if (!floats.row(row, into)) {
            requireFinite(row, into.length, column -> into[column]);
        }
    }

    @Override
    public void read(int row, double[] into) {
        if (!doubles.row(row, into)) {
            requireFinite(row, into.length, column -> into[column]);
        }
    }

    private void requireFinite(int row, int columns, IntToDoubleFunction values) {
        for (int column = 0; column < columns; column++) {
            double value = values.applyAsDouble(column);
            if (!Double.isFinite(value)) {
                long at = strides.offset() + row * strides.rows() + column * strides.columns();
                throw new IllegalArgumentException(
                        name + ": expected finite numbers but number " + at + " is " + value);
            }
        }
    }
}
