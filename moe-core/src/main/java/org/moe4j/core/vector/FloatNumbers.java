package org.moe4j.core.vector;

import java.nio.FloatBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.host.Sigmoid;
import org.moe4j.core.vector.tile.FloatTiles;
import org.moe4j.core.vector.tile.FloatTransposedTiles;
import org.moe4j.core.vector.tile.Shapes;

/** Single precision. */
final class FloatNumbers implements Numbers<float[]> {
    static final FloatNumbers INSTANCE = new FloatNumbers();

    /** Terms that are turned together: what is read and written stays in the first cache. */
    private static final int TURNED = 64;

    private FloatNumbers() {}

    @Override
    public int panel() {
        return Shapes.FLOAT_PANEL;
    }

    @Override
    public int piece() {
        return 16;
    }

    @Override
    public float[] array(int length) {
        return new float[length];
    }

    @Override
    public int length(float[] a) {
        return a.length;
    }

    @Override
    public double unitRoundoff() {
        return 0x1p-24;
    }

    @Override
    public double rounded(double value) {
        return (float) value;
    }

    @Override
    public double get(float[] a, int at) {
        return a[at];
    }

    @Override
    public void set(float[] a, int at, double value) {
        a[at] = (float) value;
    }

    @Override
    public void copy(float[] from, int at, float[] into, int intoAt, int count) {
        System.arraycopy(from, at, into, intoAt, count);
    }

    @Override
    public void fill(float[] a, int from, int to, double value) {
        Arrays.fill(a, from, to, (float) value);
    }

    @Override
    public void turn(float[] from, int at, int terms, int width, int rows, float[] into, int intoAt, int step) {
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
    public void transposedTile(TransposedTile shape, float[] d, int dAt, float[] w, int wAt, float[] sums, int at) {
        FloatTransposedTiles.run(
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
            float[] a,
            int columns,
            int @Nullable [] index,
            int from,
            int to,
            int column,
            int count,
            int width,
            float[] into,
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
    public void scatter(float[] from, int at, float[] into, int intoAt, int step, int count) {
        for (int k = 0; k < count; k++) {
            into[intoAt + k * step] = from[at + k];
        }
    }

    @Override
    public void widen(float[] from, int at, double[] into, int intoAt, int count) {
        for (int i = 0; i < count; i++) {
            into[intoAt + i] = from[at + i];
        }
    }

    @Override
    public void narrow(double[] from, float[] into, int at, int count) {
        for (int i = 0; i < count; i++) {
            into[at + i] = (float) from[i];
        }
    }

    @Override
    public void tile(
            Tile shape, float[] x, int xAt, int xStep, float[] w, int wAt, int wStep, float[] y, int yAt, int yStep) {
        FloatTiles.run(
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
    public void pack(float[] a, int columns, int[] rows, int rowAt, int count, int width, float[] into, int at) {
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
    public void addScaled(double scale, float[] a, int aAt, float[] y, int yAt, int count) {
        float factor = (float) scale;
        for (int i = 0; i < count; i++) {
            y[yAt + i] = Math.fma(factor, a[aAt + i], y[yAt + i]);
        }
    }

    @Override
    public void scale(double scale, float[] a, int aAt, float[] y, int yAt, int count) {
        float factor = (float) scale;
        for (int i = 0; i < count; i++) {
            y[yAt + i] = factor * a[aAt + i];
        }
    }

    @Override
    public void combine(
            double alpha, float[] a, int aAt, double beta, float[] b, int bAt, float[] y, int yAt, int count) {
        if (alpha == 1 && beta == 1) {
            for (int i = 0; i < count; i++) {
                y[yAt + i] = a[aAt + i] + b[bAt + i];
            }
            return;
        }
        for (int i = 0; i < count; i++) {
            y[yAt + i] = (float) (alpha * a[aAt + i] + beta * b[bAt + i]);
        }
    }

    @Override
    public void multiply(float[] a, float[] b, float[] y, int count) {
        for (int i = 0; i < count; i++) {
            y[i] = a[i] * b[i];
        }
    }

    @Override
    public double dot(float[] a, int aAt, float[] b, int bAt, int count) {
        double s0 = 0; // four chains
        double s1 = 0;
        double s2 = 0;
        double s3 = 0;
        int i = 0;
        for (; i + 4 <= count; i += 4) {
            s0 += (double) a[aAt + i] * b[bAt + i];
            s1 += (double) a[aAt + i + 1] * b[bAt + i + 1];
            s2 += (double) a[aAt + i + 2] * b[bAt + i + 2];
            s3 += (double) a[aAt + i + 3] * b[bAt + i + 3];
        }
        for (; i < count; i++) {
            s0 += (double) a[aAt + i] * b[bAt + i];
        }
        return (s0 + s1) + (s2 + s3);
    }

    @Override
    public void read(RowSource source, int from, int to, int columns, float[] into) {
        float[] row = new float[columns];
        for (int i = from; i < to; i++) {
            source.read(i, row);
            System.arraycopy(row, 0, into, i * columns, columns);
        }
    }

    @Override
    public void read(FloatBuffer values, float[] into) {
        values.duplicate().get(into);
    }

    @Override
    public long firstNonFinite(float[] a) {
        float largest = 0; // NaN as soon as one is; without a branch the loop is fast
        for (int i = 0; i < a.length; i++) {
            largest = Math.max(largest, Math.abs(a[i]));
        }
        if (Float.isFinite(largest)) {
            return -1;
        }
        int at = 0;
        while (Float.isFinite(a[at])) {
            at++;
        }
        return at;
    }

    @Override
    public void logistic(double[] x, double[] y, int count) {
        Sigmoid.approximate(x, y, count);
    }
}
