package org.moe4j.core.nd4j;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.host.Workers;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The host strategy: native memory, OpenBLAS for products, Java loops for everything else; no ND4J in any kernel. */
final class HostKernels implements Kernels {
    private final Backend backend;
    private final Elements elements;
    private final HostProducts products;
    private final HostActivations activations;
    private final HostRows rowLoops;

    HostKernels(Backend backend, Elements elements, Blas blas, Workers workers) {
        this.backend = backend;
        this.elements = elements;
        this.products = new HostProducts(elements, blas, workers);
        this.activations = new HostActivations(elements);
        this.rowLoops = new HostRows(elements, workers);
    }

    Backend backend() {
        return backend;
    }

    Elements elements() {
        return elements;
    }

    HostProducts products() {
        return products;
    }

    HostActivations activations() {
        return activations;
    }

    HostRows rowLoops() {
        return rowLoops;
    }

    @Override
    public double unitRoundoff() {
        return elements.unitRoundoff();
    }

    /** A matrix that nobody else knows yet; its elements may be anything unless it is zero. */
    HostMatrix fresh(int rows, int columns, boolean zeros) {
        long bytes = Require.manyElements(rows, columns) * elements.bytes();
        return new HostMatrix(this, rows, columns, false, () -> NativeBuffer.allocate(bytes, zeros));
    }

    /** A matrix whose buffer is filled; {@code fill} is not called where there is nothing to fill. */
    private Matrix filled(int rows, int columns, Consumer<NativeBuffer> fill) {
        try (Unfinished made = new Unfinished();
                Lease lease = new Lease()) {
            HostMatrix y = made.add(fresh(rows, columns, false));
            NativeBuffer target = lease.of(y);
            if (rows > 0 && columns > 0) {
                fill.accept(target);
            }
            made.keep();
            return y;
        }
    }

    @Override
    public Matrix matrix(int rows, int columns, double[] rowMajor) {
        return filled(rows, columns, y -> elements.write(y.block(), 0, rowMajor, 0, rows * columns));
    }

    @Override
    public Matrix matrix(int rows, int columns, float[] rowMajor) {
        return filled(rows, columns, y -> elements.write(y.block(), 0, rowMajor, 0, rows * columns));
    }

    @Override
    public Matrix matrix(int rows, int columns, FloatBuffer rowMajor) {
        int from = rowMajor.position();
        return filled(rows, columns, y -> elements.write(y.block(), 0, rowMajor, from, rows * columns));
    }

    @Override
    public Matrix matrix(int rows, int columns, RowSource source) {
        return filled(
                rows,
                columns,
                y -> rowLoops.forRows(
                        rows, columns, (from, to) -> elements.write(y.block(), source, from, to, columns)));
    }

    @Override
    public Matrix buffer(int rows, int columns) {
        long bytes = (long) rows * columns * elements.bytes();
        return new HostMatrix(this, rows, columns, true, () -> NativeBuffer.allocate(bytes, true));
    }

    @Override
    public Matrix groupedMatmul(Matrix a, RowGroups groups, List<Matrix> b, boolean transB, int columns) {
        try (Lease lease = new Lease()) {
            Operand x = Operand.of(lease.of(a), 0, a.columns());
            List<NativeBuffer> w = lease.of(b);
            return filled(a.rows(), columns, y -> products.grouped(groups, x, w, transB, Operand.of(y, 0, columns)));
        }
    }

    @Override
    public List<Matrix> groupedMatmulTransA(Matrix a, Matrix b, RowGroups groups) {
        try (Unfinished made = new Unfinished();
                Lease lease = new Lease()) {
            Operand left = Operand.of(lease.of(a), 0, a.columns());
            Operand right = Operand.of(lease.of(b), 0, b.columns());
            List<Matrix> y = gradients(groups, a.columns(), b.columns(), made);
            products.groupedTransA(groups, left, right, false, lease.of(Lease.byIndex(y)));
            made.keep();
            return y;
        }
    }

    @Override
    public void accumulateMatmulTransA(Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into) {
        try (Lease lease = new Lease()) {
            Operand left = Operand.of(lease.of(a), 0, a.columns());
            Operand right = Operand.of(lease.of(b), 0, b.columns());
            products.groupedTransA(groups, left, right, true, lease.of(into));
        }
    }

    /** One matrix per group; those of empty groups are zero and, being immutable, share their memory. */
    List<Matrix> gradients(RowGroups groups, int rows, int columns, Unfinished made) {
        List<Matrix> products = new ArrayList<>(groups.count());
        Matrix zero = null;
        for (int g = 0; g < groups.count(); g++) {
            if (groups.size(g) > 0) {
                products.add(made.add(fresh(rows, columns, false)));
            } else if (zero == null) {
                zero = made.add(fresh(rows, columns, true));
                products.add(zero);
            } else {
                products.add(made.add(zero.share()));
            }
        }
        return List.copyOf(products);
    }

    @Override
    public Matrix gatherRows(Matrix a, int[] rows) {
        try (Lease lease = new Lease()) {
            NativeBuffer from = lease.of(a);
            return filled(rows.length, a.columns(), y -> rowLoops.gather(from, a.columns(), rows, 0, rows.length, y));
        }
    }

    @Override
    public Matrix sumRows(Matrix a, int[] rows, double[] scales, int perRow) {
        try (Lease lease = new Lease()) {
            NativeBuffer from = lease.of(a);
            return filled(
                    rows.length / perRow, a.columns(), y -> rowLoops.sum(from, a.columns(), rows, scales, perRow, y));
        }
    }

    @Override
    public Matrix scaleRows(Matrix a, double[] scales) {
        try (Lease lease = new Lease()) {
            NativeBuffer from = lease.of(a);
            return filled(a.rows(), a.columns(), y -> rowLoops.scale(from, a.columns(), scales, y));
        }
    }

    @Override
    public double[] rowDots(Matrix a, Matrix b) {
        try (Lease lease = new Lease()) {
            return rowLoops.dots(lease.of(a), lease.of(b), a.rows(), a.columns());
        }
    }

    @Override
    public Matrix linearCombination(double alpha, Matrix a, double beta, Matrix b) {
        try (Lease lease = new Lease()) {
            NativeBuffer left = lease.of(a);
            NativeBuffer right = lease.of(b);
            return filled(
                    a.rows(),
                    a.columns(),
                    y -> rowLoops.forStretches(
                            a,
                            (at, count) -> elements.combine(
                                    alpha, left.block(), at, beta, right.block(), at, y.block(), at, count)));
        }
    }

    @Override
    public Matrix multiply(Matrix a, Matrix b) {
        try (Lease lease = new Lease()) {
            NativeBuffer left = lease.of(a);
            NativeBuffer right = lease.of(b);
            return filled(
                    a.rows(),
                    a.columns(),
                    y -> rowLoops.forStretches(
                            a,
                            (at, count) ->
                                    elements.multiply(left.block(), at, right.block(), at, y.block(), at, count)));
        }
    }

    @Override
    public Matrix activate(Activation activation, Projections projections) {
        Matrix up = projections.up();
        try (Lease lease = new Lease()) {
            HostActivations.Stretch from = HostActivations.Stretch.of(lease, projections);
            return filled(
                    up.rows(),
                    up.columns(),
                    y -> rowLoops.forStretches(
                            up,
                            (at, count) ->
                                    activations.forward(activation, from.storedRow(at), Operand.of(y, at, 1), count)));
        }
    }

    @Override
    public Projections activateBackward(Activation activation, Projections projections, Matrix dHidden) {
        try (Unfinished made = new Unfinished();
                Lease lease = new Lease()) {
            Projections y = new Projections(
                    projections.gate().map(gate -> made.add(like(gate))), made.add(like(projections.up())));
            HostActivations.Stretch from = HostActivations.Stretch.of(lease, projections);
            Operand d = Operand.of(lease.of(dHidden), 0, 1);
            HostActivations.Stretch to = HostActivations.Stretch.of(lease, y);
            rowLoops.forStretches(
                    dHidden,
                    (at, count) -> activations.backward(
                            activation, from.storedRow(at), d.storedRow(at), to.storedRow(at), count));
            made.keep();
            return y;
        }
    }

    private Matrix like(Matrix a) {
        return fresh(a.rows(), a.columns(), false);
    }

    @Override
    public void accumulate(double keep, Matrix buffer, int fromRow, Matrix a) {
        HostMatrix target = (HostMatrix) buffer;
        try (Lease lease = new Lease()) {
            NativeBuffer y = lease.of(target);
            NativeBuffer from = lease.of(a);
            long start = (long) fromRow * a.columns();
            rowLoops.forStretches(a, (at, count) -> {
                if (keep == 0) {
                    elements.copy(from.block(), at, y.block(), start + at, count);
                } else {
                    elements.combine(keep, y.block(), start + at, 1, from.block(), at, y.block(), start + at, count);
                }
            });
        }
    }

    @Override
    public OptionalLong firstNonFinite(Matrix a) {
        try (Lease lease = new Lease()) {
            return rowLoops.firstNonFinite(lease.of(a), (long) a.rows() * a.columns());
        }
    }

    Bank prepare(BankWeights weights) {
        return new HostBank(this, weights);
    }

    @Override
    public Matrix wrap(INDArray array) {
        return HostArrays.wrap(this, array);
    }

    @Override
    public INDArray unwrap(Matrix matrix) {
        return HostArrays.unwrap((HostMatrix) matrix, elements);
    }
}
