package org.moe4j.checkpoint.layout;

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
        for (int j = 0; j < into.length; j++) {
            if (!Float.isFinite(into[j])) {
                throw notFinite(row, j, into[j]);
            }
        }
    }

    @Override
    public void read(int row, double[] into) {
        doubles.row(row, into);
        for (int j = 0; j < into.length; j++) {
            if (!Double.isFinite(into[j])) {
                throw notFinite(row, j, into[j]);
            }
        }
    }

    private IllegalArgumentException notFinite(int row, int column, double value) {
        long at = strides.offset() + row * strides.rows() + column * strides.columns();
        return new IllegalArgumentException(name + ": expected finite numbers but number " + at + " is " + value);
    }
}
