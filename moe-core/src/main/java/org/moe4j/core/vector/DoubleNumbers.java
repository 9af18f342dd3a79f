package org.moe4j.core.vector;

import java.nio.FloatBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.vector.tile.DoubleTiles;
import org.moe4j.core.vector.tile.DoubleTransposedTiles;
import org.moe4j.core.vector.tile.Shapes;

/** Double precision. */
final class DoubleNumbers implements Numbers<double[]> {
    static final DoubleNumbers INSTANCE = new DoubleNumbers();

    /** Terms that are turned together: what is read and written stays in the first cache. */
    private static final int TURNED = 64;

    private DoubleNumbers() {}

    @Override
    public int panel() {
        return Shapes.DOUBLE_PANEL;
    }

    @Override
    public int piece() {
        return 8;
    }

    @Override
    public double[] array(int length) {
        return new double[length];
    }

    @Override
    public int length(double[] a) {
        return a.length;
    }

    @Override
    public double unitRoundoff() {
        return 0x1p-53;
    }

    @Override
    public double rounded(double value) {
        return value;
    }

    @Override
    public double get(double[] a, int at) {
        return a[at];
    }

    @Override
    public void set(double[] a, int at, double value) {
        a[at] = value;
    }

    @Override
    public void copy(double[] from, int at, double[] into, int intoAt, int count) {
        System.arraycopy(from, at, into, intoAt, count);
    }

    @Override
    public void fill(double[] a, int from, int to, double value) {
        Arrays.fill(a, from, to, value);
    }

    @Override
    public void turn(double[] from, int at, int terms, int width, int rows, double[] into, int intoAt, int step) {
        for (int first = 0; first < terms; first += TURNED) {
            int last = Math.min(terms, first + TURNED);
            for (int row = 0; row < rows; row++) {
                for (int k = first; k < last; k++) {
                    into[intoAt + row * step + k] = from[at + k * width + row];
                }
            }
        }
    }

    @Override
    public void transposedTile(TransposedTile shape, double[] d, int dAt, double[] w, int wAt, double[] sums, int at) {
        DoubleTransposedTiles.run(
                shape.terms(),
                shape.vectors(),
                shape.run().panels(),
                shape.run().columns(),
                d,
                dAt,
                w,
                wAt,
                shape.panelStep(),
                sums,
                at);
    }

    @Override
    public void strip(
            double[] a,
            int columns,
            int @Nullable [] index,
            int from,
            int to,
            int column,
            int count,
            int width,
            double[] into,
            int at) {
        for (int row = from, y = at; row < to; row++, y += width) {
            int x = (index == null ? row : index[row]) * columns + column;
            if (count > Shapes.ROWS) {
                System.arraycopy(a, x, into, y, count);
            } else {
                for (int c = 0; c < count; c++) { // so few that a call costs more
                    into[y + c] = a[x + c];
                }
            }
            for (int c = count; c < width; c++) {
                into[y + c] = 0;
            }
        }
    }

    @Override
    public void scatter(double[] from, int at, double[] into, int intoAt, int step, int count) {
        for (int k = 0; k < count; k++) {
            into[intoAt + k * step] = from[at + k];
        }
    }

    @Override
    public void widen(double[] from, int at, double[] into, int intoAt, int count) {
        for (int i = 0; i < count; i++) {
            into[intoAt + i] = from[at + i];
        }
    }

    @Override
    public void narrow(double[] from, double[] into, int at, int count) {
        for (int i = 0; i < count; i++) {
            into[at + i] = from[i];
        }
    }

    @Override
    public void tile(
            Tile shape,
            double[] x,
            int xAt,
            int xStep,
            double[] w,
            int wAt,
            int wStep,
            double[] y,
            int yAt,
            int yStep) {
        DoubleTiles.run(
                shape.rows(),
                shape.panels(),
                shape.inner(),
                x,
                xAt,
                xStep,
                w,
                wAt,
                wStep,
                shape.panelStep(),
                y,
                yAt,
                yStep);
    }

    @Override
    public void pack(double[] a, int columns, int[] rows, int rowAt, int count, int width, double[] into, int at) {
        if (width == 1) {
            System.arraycopy(a, rows[rowAt] * columns, into, at, columns);
            return;
        }
        int m = 0;
        for (; m + 4 <= count; m += 4) { // four rows together: a line of the cache is written less often
            int a0 = rows[rowAt + m] * columns;
            int a1 = rows[rowAt + m + 1] * columns;
            int a2 = rows[rowAt + m + 2] * columns;
            int a3 = rows[rowAt + m + 3] * columns;
            for (int k = 0, to = at + m; k < columns; k++, to += width) {
                into[to] = a[a0 + k];
                into[to + 1] = a[a1 + k];
                into[to + 2] = a[a2 + k];
                into[to + 3] = a[a3 + k];
            }
        }
        for (; m < width; m++) {
            int from = m < count ? rows[rowAt + m] * columns : -1;
            for (int k = 0, to = at + m; k < columns; k++, to += width) {
                into[to] = from < 0 ? 0 : a[from + k];
            }
        }
    }

    @Override
    public void addScaled(double scale, double[] a, int aAt, double[] y, int yAt, int count) {
        double factor = scale;
        for (int i = 0; i < count; i++) {
            y[yAt + i] = Math.fma(factor, a[aAt + i], y[yAt + i]);
        }
    }

    @Override
    public void scale(double scale, double[] a, int aAt, double[] y, int yAt, int count) {
        double factor = scale;
        for (int i = 0; i < count; i++) {
            y[yAt + i] = factor * a[aAt + i];
        }
    }

    @Override
    public void combine(
            double alpha, double[] a, int aAt, double beta, double[] b, int bAt, double[] y, int yAt, int count) {
        if (alpha == 1 && beta == 1) {
            for (int i = 0; i < count; i++) {
                y[yAt + i] = a[aAt + i] + b[bAt + i];
            }
            return;
        }
        for (int i = 0; i < count; i++) {
            y[yAt + i] = alpha * a[aAt + i] + beta * b[bAt + i];
        }
    }

    @Override
    public void multiply(double[] a, double[] b, double[] y, int count) {
        for (int i = 0; i < count; i++) {
            y[i] = a[i] * b[i];
        }
    }

    @Override
    public double dot(double[] a, int aAt, double[] b, int bAt, int count) {
        double s0 = 0; // four chains
        double s1 = 0;
        double s2 = 0;
        double s3 = 0;
        int i = 0;
        for (; i + 4 <= count; i += 4) {
            s0 += a[aAt + i] * b[bAt + i];
            s1 += a[aAt + i + 1] * b[bAt + i + 1];
            s2 += a[aAt + i + 2] * b[bAt + i + 2];
            s3 += a[aAt + i + 3] * b[bAt + i + 3];
        }
        for (; i < count; i++) {
            s0 += a[aAt + i] * b[bAt + i];
        }
        return (s0 + s1) + (s2 + s3);
    }

    @Override
    public void read(RowSource source, int from, int to, int columns, double[] into) {
        double[] row = new double[columns];
        for (int i = from; i < to; i++) {
            source.read(i, row);
            System.arraycopy(row, 0, into, i * columns, columns);
        }
    }

    @Override
    public void read(FloatBuffer values, double[] into) {
        for (int i = 0; i < into.length; i++) {
            into[i] = values.get(values.position() + i);
        }
    }

    @Override
    public long firstNonFinite(double[] a) {
        double largest = 0; // NaN as soon as one is; without a branch the loop is fast
        for (int i = 0; i < a.length; i++) {
            largest = Math.max(largest, Math.abs(a[i]));
        }
        if (Double.isFinite(largest)) {
            return -1;
        }
        int at = 0;
        while (Double.isFinite(a[at])) {
            at++;
        }
        return at;
    }

    @Override
    public void logistic(double[] x, double[] y, int count) {
        for (int i = 0; i < count; i++) {
            y[i] = 1 / (1 + StrictMath.exp(-x[i])); // the same bits from every JDK
        }
    }
}
