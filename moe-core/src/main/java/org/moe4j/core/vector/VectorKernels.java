package org.moe4j.core.vector;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.host.Workers;
import org.moe4j.core.internal.Require;

/**
 * The kernels of {@link VectorBackend} in one precision; arguments have been checked.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class VectorKernels<A> {
    private final VectorBackend backend;
    private final Numbers<A> numbers;
    private final Workers workers;
    private final Products<A> products;

    VectorKernels(VectorBackend backend, Numbers<A> numbers, Workers workers) {
        this.backend = backend;
        this.numbers = numbers;
        this.workers = workers;
        products = new Products<>(numbers, workers);
    }

    Numbers<A> numbers() {
        return numbers;
    }

    Workers workers() {
        return workers;
    }

    A array(Matrix matrix) {
        return VectorMatrix.<A>content(matrix).array();
    }

    Matrix matrix(int rows, int columns, A values, boolean writable) {
        return new VectorMatrix<>(
                backend,
                numbers,
                rows,
                columns,
                new Content.Dense<>(numbers, values, rows, columns, writable),
                writable);
    }

    private Matrix matrix(int rows, int columns, A values) {
        return matrix(rows, columns, values, false);
    }

    A fresh(int rows, int columns) {
        return numbers.array(Require.elements(rows, columns));
    }

    Matrix matrix(int rows, int columns, RowSource source) {
        A values = fresh(rows, columns);
        int pieces = rows == 0 ? 0 : (int) Math.min(rows, 1 + (long) rows * columns / (1 << 20));
        workers.forEach(pieces, Cost.numbers((long) rows * columns), piece -> {
            int from = (int) ((long) rows * piece / pieces);
            int to = (int) ((long) rows * (piece + 1) / pieces);
            numbers.read(source, from, to, columns, values);
        });
        return matrix(rows, columns, values);
    }

    Matrix grouped(Matrix a, RowGroups groups, List<Matrix> b, boolean transB, int outputs) {
        A y = fresh(a.rows(), outputs);
        if (transB) {
            products.withPanels(
                    array(a),
                    a.columns(),
                    groups,
                    g -> VectorMatrix.<A>content(b.get(g)).panels(),
                    outputs,
                    y);
        } else {
            products.plain(array(a), a.columns(), groups, g -> array(b.get(g)), outputs, y);
        }
        return matrix(a.rows(), outputs, y);
    }

    List<Matrix> groupedTransA(Matrix a, Matrix b, RowGroups groups) {
        List<Matrix> all = new ArrayList<>(groups.count());
        for (int g = 0; g < groups.count(); g++) {
            A y = fresh(a.columns(), b.columns());
            products.transA(array(a), a.columns(), array(b), b.columns(), groups.from(g), groups.to(g), y);
            all.add(matrix(a.columns(), b.columns(), y));
        }
        return List.copyOf(all);
    }

    void accumulateTransA(Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into) {
        A left = array(a);
        A right = array(b);
        Map<Integer, A> arrays = new LinkedHashMap<>();
        into.forEach((g, buffer) -> arrays.put(g, array(buffer)));
        arrays.forEach(
                (g, y) -> products.transA(left, a.columns(), right, b.columns(), groups.from(g), groups.to(g), y));
    }

    private interface Rows {
        void run(int from, int to);
    }

    private void forRows(int rows, long numbersOfRow, Rows task) {
        long all = rows * numbersOfRow;
        int pieces = rows == 0 ? 0 : (int) Math.min(rows, 1 + all / (1 << 16));
        if (pieces == 1) {
            task.run(0, rows);
            return;
        }
        workers.forEach(
                pieces,
                Cost.numbers(all),
                piece -> task.run((int) ((long) rows * piece / pieces), (int) ((long) rows * (piece + 1) / pieces)));
    }

    Matrix gatherRows(Matrix a, int[] rows) {
        int d = a.columns();
        A from = array(a);
        A y = fresh(rows.length, d);
        forRows(rows.length, d, (first, last) -> {
            for (int i = first; i < last; i++) {
                numbers.copy(from, rows[i] * d, y, i * d, d);
            }
        });
        return matrix(rows.length, d, y);
    }

    Matrix sumRows(Matrix a, int[] rows, double[] scales, int perRow, int sums) {
        A y = fresh(sums, a.columns());
        sumRows(array(a), a.columns(), rows, scales, perRow, y, 0, sums);
        return matrix(sums, a.columns(), y);
    }

    /** Sums of rows of so many columns, into those of y from one on. */
    void sumRows(A from, int columns, int[] rows, double[] scales, int perRow, A y, int at, int sums) {
        forRows(sums, (long) columns * perRow, (first, last) -> {
            for (int t = first; t < last; t++) {
                int to = (at + t) * columns;
                numbers.fill(y, to, to + columns, 0);
                for (int slot = t * perRow; slot < (t + 1) * perRow; slot++) {
                    if (rows[slot] >= 0) {
                        numbers.addScaled(scales[slot], from, rows[slot] * columns, y, to, columns);
                    }
                }
            }
        });
    }

    Matrix scaleRows(Matrix a, double[] scales) {
        int d = a.columns();
        A from = array(a);
        A y = fresh(a.rows(), d);
        forRows(a.rows(), d, (first, last) -> {
            for (int i = first; i < last; i++) {
                numbers.scale(scales[i], from, i * d, y, i * d, d);
            }
        });
        return matrix(a.rows(), d, y);
    }

    double[] rowDots(Matrix a, Matrix b) {
        int d = a.columns();
        A left = array(a);
        A right = array(b);
        double[] y = new double[a.rows()];
        forRows(a.rows(), d, (first, last) -> {
            for (int i = first; i < last; i++) {
                y[i] = numbers.dot(left, i * d, right, i * d, d);
            }
        });
        return y;
    }

    Matrix combination(double alpha, Matrix a, double beta, Matrix b) {
        int d = a.columns();
        A left = array(a);
        A right = array(b);
        A y = fresh(a.rows(), d);
        forRows(
                a.rows(),
                d,
                (first, last) -> numbers.combine(
                        alpha, left, first * d, beta, right, first * d, y, first * d, (last - first) * d));
        return matrix(a.rows(), d, y);
    }

    Matrix multiply(Matrix a, Matrix b) {
        A y = fresh(a.rows(), a.columns());
        numbers.multiply(array(a), array(b), y, numbers.length(y));
        return matrix(a.rows(), a.columns(), y);
    }

    void accumulate(double keep, Matrix buffer, int fromRow, Matrix a) {
        int d = a.columns();
        A from = array(a);
        A y = array(buffer);
        int at = fromRow * d;
        forRows(a.rows(), d, (first, last) -> {
            int count = (last - first) * d;
            if (keep == 0) {
                numbers.copy(from, first * d, y, at + first * d, count);
            } else {
                numbers.combine(keep, y, at + first * d, 1, from, first * d, y, at + first * d, count);
            }
        });
    }

    OptionalLong firstNonFinite(Matrix a) {
        A values = array(a);
        long at = numbers.firstNonFinite(values);
        return at < 0 ? OptionalLong.empty() : OptionalLong.of(at);
    }

    Matrix activate(Activation activation, Projections projections) {
        Matrix up = projections.up();
        A y = fresh(up.rows(), up.columns());
        new ActivationTiles<>(numbers, workers).forward(activation, gate(activation, projections), array(up), y);
        return matrix(up.rows(), up.columns(), y);
    }

    private @Nullable A gate(Activation activation, Projections projections) {
        return activation.gated() ? array(projections.gateOrThrow()) : null;
    }

    Projections activateBackward(Activation activation, Projections projections, Matrix dHidden) {
        int rows = dHidden.rows();
        int columns = dHidden.columns();
        A dUp = fresh(rows, columns);
        A dGate = activation.gated() ? fresh(rows, columns) : dUp;
        A gate = gate(activation, projections);
        new ActivationTiles<>(numbers, workers)
                .backward(activation, gate, array(projections.up()), array(dHidden), dGate, dUp);
        Matrix byUp = matrix(rows, columns, dUp);
        return activation.gated() ? Projections.of(matrix(rows, columns, dGate), byUp) : Projections.of(byUp);
    }
}
