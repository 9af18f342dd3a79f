package org.moe4j.core.reference;

import static org.moe4j.core.reference.ReferenceMatrix.values;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;

/**
 * The definition of every kernel: plain Java in {@code double}, sums in index order, no blocking, no reuse, no native
 * library. {@link StrictMath} makes its results the same on every JVM.
 */
public final class ReferenceBackend implements Backend {
    private static final ReferenceBackend INSTANCE = new ReferenceBackend();

    private ReferenceBackend() {}

    /**
     * The backend.
     *
     * @return the one instance
     */
    public static ReferenceBackend instance() {
        return INSTANCE;
    }

    @Override
    public String name() {
        return "ReferenceBackend";
    }

    @Override
    public double unitRoundoff() {
        return 0x1p-53;
    }

    @Override
    public Matrix matrix(int rows, int columns, double[] rowMajor) {
        Require.count("rowMajor", rowMajor.length, Require.elements(rows, columns), "values (rows x columns)");
        return wrap(rows, columns, rowMajor.clone());
    }

    @Override
    public Matrix matrix(int rows, int columns, float[] rowMajor) {
        return matrix(rows, columns, FloatBuffer.wrap(rowMajor));
    }

    @Override
    public Matrix matrix(int rows, int columns, FloatBuffer rowMajor) {
        double[] y = new double[Require.elements(rows, columns)];
        if (rowMajor.remaining() < y.length) {
            throw Require.expected(
                    "rowMajor", "at least " + y.length + " values (rows x columns)", rowMajor.remaining());
        }
        for (int i = 0; i < y.length; i++) {
            y[i] = rowMajor.get(rowMajor.position() + i);
        }
        return wrap(rows, columns, y);
    }

    @Override
    public Matrix matrix(int rows, int columns, RowSource source) {
        double[] y = new double[Require.elements(rows, columns)];
        double[] row = new double[y.length == 0 ? 0 : columns];
        for (int i = 0; y.length > 0 && i < rows; i++) {
            source.read(i, row);
            System.arraycopy(row, 0, y, i * columns, columns);
        }
        return wrap(rows, columns, y);
    }

    @Override
    public Matrix buffer(int rows, int columns) {
        return new ReferenceMatrix(this, rows, columns, new double[Require.elements(rows, columns)], true);
    }

    private Matrix wrap(int rows, int columns, double[] values) {
        return new ReferenceMatrix(this, rows, columns, values, false);
    }

    @Override
    public Matrix groupedMatmul(Matrix a, RowGroups groups, List<Matrix> b) {
        int n = KernelChecks.groupedMatmul(this, a, groups, b, false);
        int p = a.columns();
        double[] left = values(a);
        double[] y = new double[Require.elements(a.rows(), n)];
        for (int g = 0; g < groups.count(); g++) {
            double[] right = values(b.get(g));
            for (int i = groups.from(g); i < groups.to(g); i++) {
                for (int j = 0; j < n; j++) {
                    double sum = 0;
                    for (int k = 0; k < p; k++) {
                        sum += left[i * p + k] * right[k * n + j];
                    }
                    y[i * n + j] = sum;
                }
            }
        }
        return wrap(a.rows(), n, y);
    }

    @Override
    public Matrix groupedMatmulTransB(Matrix a, RowGroups groups, List<Matrix> b) {
        int n = KernelChecks.groupedMatmul(this, a, groups, b, true);
        int p = a.columns();
        double[] left = values(a);
        double[] y = new double[Require.elements(a.rows(), n)];
        for (int g = 0; g < groups.count(); g++) {
            double[] right = values(b.get(g));
            for (int i = groups.from(g); i < groups.to(g); i++) {
                for (int j = 0; j < n; j++) {
                    double sum = 0;
                    for (int k = 0; k < p; k++) {
                        sum += left[i * p + k] * right[j * p + k];
                    }
                    y[i * n + j] = sum;
                }
            }
        }
        return wrap(a.rows(), n, y);
    }

    @Override
    public List<Matrix> groupedMatmulTransA(Matrix a, Matrix b, RowGroups groups) {
        KernelChecks.groupedMatmulTransA(this, a, b, groups);
        int m = a.columns();
        int n = b.columns();
        double[] left = values(a);
        double[] right = values(b);
        List<Matrix> products = new ArrayList<>(groups.count());
        for (int g = 0; g < groups.count(); g++) {
            double[] y = new double[Require.elements(m, n)];
            for (int i = 0; i < m; i++) {
                for (int j = 0; j < n; j++) {
                    double sum = 0;
                    for (int k = groups.from(g); k < groups.to(g); k++) {
                        sum += left[k * m + i] * right[k * n + j];
                    }
                    y[i * n + j] = sum;
                }
            }
            products.add(wrap(m, n, y));
        }
        return List.copyOf(products);
    }

    @Override
    public void accumulateMatmulTransA(Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into) {
        KernelChecks.accumulateMatmulTransA(this, a, b, groups, into);
        List<Matrix> products = groupedMatmulTransA(a, b, groups);
        into.forEach((group, buffer) -> accumulate(1, buffer, 0, products.get(group)));
    }

    @Override
    public Matrix gatherRows(Matrix a, int[] rows) {
        KernelChecks.gatherRows(this, a, rows);
        int d = a.columns();
        double[] from = values(a);
        double[] y = new double[Require.elements(rows.length, d)];
        for (int i = 0; i < rows.length; i++) {
            System.arraycopy(from, rows[i] * d, y, i * d, d);
        }
        return wrap(rows.length, d, y);
    }

    @Override
    public Matrix sumRows(Matrix a, int[] rows, double[] scales, int perRow) {
        int sums = KernelChecks.sumRows(this, a, rows, scales, perRow);
        int d = a.columns();
        double[] from = values(a);
        double[] y = new double[Require.elements(sums, d)];
        for (int t = 0; t < sums; t++) {
            for (int slot = t * perRow; slot < (t + 1) * perRow; slot++) {
                for (int c = 0; rows[slot] >= 0 && c < d; c++) {
                    y[t * d + c] += scales[slot] * from[rows[slot] * d + c];
                }
            }
        }
        return wrap(sums, d, y);
    }

    @Override
    public Matrix scaleRows(Matrix a, double[] scales) {
        KernelChecks.scaleRows(this, a, scales);
        double[] y = values(a).clone();
        for (int i = 0; i < y.length; i++) {
            y[i] *= scales[i / a.columns()];
        }
        return wrap(a.rows(), a.columns(), y);
    }

    @Override
    public double[] rowDots(Matrix a, Matrix b) {
        KernelChecks.sameShape(this, "a", a, "b", b);
        int d = a.columns();
        double[] left = values(a);
        double[] right = values(b);
        double[] y = new double[a.rows()];
        for (int i = 0; i < y.length; i++) {
            for (int c = i * d; c < (i + 1) * d; c++) {
                y[i] += left[c] * right[c];
            }
        }
        return y;
    }

    @Override
    public Matrix linearCombination(double alpha, Matrix a, double beta, Matrix b) {
        KernelChecks.sameShape(this, "a", a, "b", b);
        double[] left = values(a);
        double[] right = values(b);
        double[] y = new double[left.length];
        Arrays.setAll(y, i -> alpha * left[i] + beta * right[i]);
        return wrap(a.rows(), a.columns(), y);
    }

    @Override
    public Matrix multiply(Matrix a, Matrix b) {
        KernelChecks.sameShape(this, "a", a, "b", b);
        double[] left = values(a);
        double[] right = values(b);
        double[] y = new double[left.length];
        Arrays.setAll(y, i -> left[i] * right[i]);
        return wrap(a.rows(), a.columns(), y);
    }

    @Override
    public Matrix activate(Activation activation, Projections projections) {
        KernelChecks.activate(this, activation, projections);
        Matrix up = projections.up();
        double[] u = values(up);
        double[] y = new double[u.length];
        if (activation instanceof Activation.Gated gated) {
            double[] g = values(projections.gateOrThrow());
            Arrays.setAll(y, i -> ReferenceActivations.value(gated, g[i], u[i]));
        } else if (activation instanceof Activation.Plain plain) {
            Arrays.setAll(y, i -> ReferenceActivations.value(plain, u[i]));
        }
        return wrap(up.rows(), up.columns(), y);
    }

    @Override
    public Projections activateBackward(Activation activation, Projections projections, Matrix dHidden) {
        KernelChecks.activateBackward(this, activation, projections, dHidden);
        Matrix up = projections.up();
        double[] u = values(up);
        double[] d = values(dHidden);
        double[] dUp = new double[u.length];
        if (activation instanceof Activation.Plain plain) {
            Arrays.setAll(dUp, i -> d[i] * ReferenceActivations.slope(plain, u[i]));
            return Projections.of(wrap(up.rows(), up.columns(), dUp));
        }
        Activation.Gated gated = (Activation.Gated) activation;
        double[] g = values(projections.gateOrThrow());
        double[] dGate = new double[u.length];
        Arrays.setAll(dUp, i -> d[i] * ReferenceActivations.upSlope(gated, g[i], u[i]));
        Arrays.setAll(dGate, i -> d[i] * ReferenceActivations.gateSlope(gated, g[i], u[i]));
        return Projections.of(wrap(up.rows(), up.columns(), dGate), wrap(up.rows(), up.columns(), dUp));
    }

    @Override
    public void accumulate(double keep, Matrix buffer, int fromRow, Matrix a) {
        KernelChecks.accumulate(this, buffer, fromRow, a);
        double[] y = values(buffer);
        double[] from = values(a);
        int start = fromRow * a.columns();
        for (int i = 0; i < from.length; i++) {
            y[start + i] = keep == 0 ? from[i] : keep * y[start + i] + from[i];
        }
    }

    @Override
    public OptionalLong firstNonFinite(Matrix a) {
        KernelChecks.owner("a", a, this);
        double[] from = values(a);
        for (int i = 0; i < from.length; i++) {
            if (!Double.isFinite(from[i])) {
                return OptionalLong.of(i);
            }
        }
        return OptionalLong.empty();
    }

    @Override
    public String toString() {
        return name();
    }
}
