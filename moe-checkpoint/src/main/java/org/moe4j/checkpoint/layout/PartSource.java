package org.moe4j.checkpoint.layout;

import org.moe4j.core.backend.RowSource;

/**
 * The rows of one part, wherever its elements stand among the values of a tensor. Several threads may ask for rows, each for its
 * own; where the tensor is transposed, a thread reads several at once, so that it had better go upwards.
 */
final class PartSource implements RowSource {
    /** Rows that are read together when elements of one row are far from one another. */
    private static final int TILE = 64;

    private final Values values;
    private final TensorPattern.Strides strides;
    private final int rows;
    private final int columns;
    private final String name;
    private final ThreadLocal<Scratch> scratch = ThreadLocal.withInitial(Scratch::new);

    /** What one thread has read: backends fill a large matrix with several. */
    private final class Scratch {
        private final double[] line = new double[transposed() ? (int) ((TILE - 1) * strides.rows() + 1) : span()];
        private final double[] tile = new double[transposed() ? TILE * columns : 0];
        private int tileFrom = Integer.MIN_VALUE;

        void readTile(int from) {
            int count = Math.min(TILE, rows - from);
            int step = Math.toIntExact(strides.rows());
            for (int j = 0; j < columns; j++) {
                values.read(
                        strides.offset() + from * strides.rows() + j * strides.columns(),
                        line,
                        0,
                        (count - 1) * step + 1);
                for (int i = 0; i < count; i++) {
                    tile[i * columns + j] = line[i * step];
                }
            }
            tileFrom = from;
        }
    }

    /**
     * A source.
     *
     * @param name of the tensor, for messages
     */
    PartSource(Values values, TensorPattern.Strides strides, int rows, int columns, String name) {
        this.values = values;
        this.strides = strides;
        this.rows = rows;
        this.columns = columns;
        this.name = name;
    }

    private boolean transposed() {
        return columns > 1 && rows > 1 && strides.columns() > strides.rows();
    }

    /** Values from the first element of a row to its last. */
    private int span() {
        return columns == 0 ? 0 : Math.toIntExact((columns - 1) * strides.columns() + 1);
    }

    @Override
    public void read(int row, float[] into) {
        if (!transposed() && strides.columns() == 1) {
            values.read(strides.offset() + row * strides.rows(), into, 0, columns);
        } else {
            double[] wide = new double[columns];
            gather(row, wide);
            for (int j = 0; j < columns; j++) {
                into[j] = (float) wide[j];
            }
        }
        for (int j = 0; j < columns; j++) {
            if (!Float.isFinite(into[j])) {
                throw notFinite(row, j, into[j]);
            }
        }
    }

    @Override
    public void read(int row, double[] into) {
        gather(row, into);
        for (int j = 0; j < columns; j++) {
            if (!Double.isFinite(into[j])) {
                throw notFinite(row, j, into[j]);
            }
        }
    }

    private void gather(int row, double[] into) {
        Scratch own = scratch.get();
        if (transposed()) {
            if (row < own.tileFrom || row >= own.tileFrom + TILE) {
                own.readTile(row);
            }
            System.arraycopy(own.tile, (row - own.tileFrom) * columns, into, 0, columns);
            return;
        }
        values.read(strides.offset() + row * strides.rows(), own.line, 0, span());
        for (int j = 0; j < columns; j++) {
            into[j] = own.line[Math.toIntExact(j * strides.columns())];
        }
    }

    private IllegalArgumentException notFinite(int row, int column, double value) {
        long at = strides.offset() + row * strides.rows() + column * strides.columns();
        return new IllegalArgumentException(name + ": expected finite numbers but number " + at + " is " + value);
    }
}
