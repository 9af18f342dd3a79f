package org.moe4j.checkpoint.layout;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Rows whose elements stand anywhere among the values of a tensor, in numbers of one width. Several threads may ask for rows, in any
 * order. Where elements of one row are far from one another, many rows are read at once and held until they were asked for.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
abstract class Gather<A> {
    /** Numbers that are held together, about. */
    private static final int TILE = 1 << 19;

    /** Columns that are read before rows are cut out of them: the numbers of a line of the cache. */
    private static final int TOGETHER = 16;

    private final Values values;
    private final TensorPattern.Strides strides;
    private final int rows;
    private final int columns;
    private final int tileRows;
    private final Map<Integer, Tile<A>> tiles = new ConcurrentHashMap<>();

    Gather(Values values, TensorPattern.Strides strides, int rows, int columns) {
        this.values = values;
        this.strides = strides;
        this.rows = rows;
        this.columns = columns;
        tileRows = Math.max(TOGETHER, TILE / Math.max(1, columns));
    }

    private record Tile<A>(A rows, boolean finite, AtomicInteger left) {}

    abstract A array(int length);

    /** False unless all are finite. */
    abstract boolean read(Values values, long from, A into, int at, int count);

    /** {@code into[at + i] = from[first + i·step]}. */
    abstract void pick(A from, int first, int step, A into, int at, int count);

    /** Reads a row. False unless all of it is finite; it may be false where it is. */
    final boolean row(int row, A into) {
        if (columns > 1 && rows > 1 && strides.columns() > strides.rows()) {
            int index = row / tileRows;
            Tile<A> tile = tiles.computeIfAbsent(index, this::tile);
            System.arraycopy(tile.rows(), (row - index * tileRows) * columns, into, 0, columns);
            if (tile.left().decrementAndGet() == 0) {
                tiles.remove(index);
            }
            return tile.finite();
        } else if (strides.columns() == 1) {
            return read(values, strides.offset() + row * strides.rows(), into, 0, columns);
        } else {
            int step = Math.toIntExact(strides.columns());
            A line = array(columns == 0 ? 0 : (columns - 1) * step + 1);
            boolean finite = read(
                    values,
                    strides.offset() + row * strides.rows(),
                    line,
                    0,
                    columns == 0 ? 0 : (columns - 1) * step + 1);
            pick(line, 0, step, into, 0, columns);
            return finite;
        }
    }

    private Tile<A> tile(int index) {
        int from = index * tileRows;
        int count = Math.min(tileRows, rows - from);
        int step = Math.toIntExact(strides.rows());
        int span = (count - 1) * step + 1;
        A lines = array(TOGETHER * span);
        A tile = array(Math.multiplyExact(count, columns));
        boolean finite = true;
        for (int first = 0; first < columns; first += TOGETHER) {
            int width = Math.min(TOGETHER, columns - first);
            for (int j = 0; j < width; j++) {
                long at = strides.offset() + from * strides.rows() + (first + j) * strides.columns();
                finite &= read(values, at, lines, j * span, span);
            }
            for (int i = 0; i < count; i++) {
                pick(lines, i * step, span, tile, i * columns + first, width);
            }
        }
        return new Tile<>(tile, finite, new AtomicInteger(count));
    }

    /** Rows of {@code float}, each number rounded once. */
    static final class OfFloats extends Gather<float[]> {
        OfFloats(Values values, TensorPattern.Strides strides, int rows, int columns) {
            super(values, strides, rows, columns);
        }

        @Override
        float[] array(int length) {
            return new float[length];
        }

        @Override
        boolean read(Values values, long from, float[] into, int at, int count) {
            return values.read(from, into, at, count);
        }

        @Override
        void pick(float[] from, int first, int step, float[] into, int at, int count) {
            for (int i = 0; i < count; i++) {
                into[at + i] = from[first + i * step];
            }
        }
    }

    /** Rows of {@code double}. */
    static final class OfDoubles extends Gather<double[]> {
        OfDoubles(Values values, TensorPattern.Strides strides, int rows, int columns) {
            super(values, strides, rows, columns);
        }

        @Override
        double[] array(int length) {
            return new double[length];
        }

        @Override
        boolean read(Values values, long from, double[] into, int at, int count) {
            values.read(from, into, at, count);
            double largest = 0; // NaN as soon as one is; without a branch the loop is a fraction of the time
            for (int i = at; i < at + count; i++) {
                largest = Math.max(largest, Math.abs(into[i]));
            }
            return Double.isFinite(largest);
        }

        @Override
        void pick(double[] from, int first, int step, double[] into, int at, int count) {
            for (int i = 0; i < count; i++) {
                into[at + i] = from[first + i * step];
            }
        }
    }
}
