package org.moe4j.core.nd4j;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The device strategy: only ND4J operations that were checked against plain loops, and nothing that assumes host memory.
 * Products with an empty operand never reach ND4J, which refuses them.
 */
final class DeviceKernels implements Kernels {
    private final Backend backend;
    private final DeviceArrays arrays;
    private final double unitRoundoff;

    DeviceKernels(Backend backend, Precision precision) {
        this.backend = backend;
        this.arrays = new DeviceArrays(NdArrayChecks.type(precision));
        this.unitRoundoff = precision == Precision.FLOAT32 ? 0x1p-24 : 0x1p-53;
    }

    @Override
    public double unitRoundoff() {
        return unitRoundoff;
    }

    /** A matrix of the array that {@code make} returns; it is not called where there are no elements. */
    private Matrix made(int rows, int columns, Function<DeviceScope, INDArray> make, Matrix... arguments) {
        return wrap(rows, columns, owned(rows, columns, make, arguments));
    }

    private static DeviceBuffer owned(
            int rows, int columns, Function<DeviceScope, INDArray> make, Matrix... arguments) {
        try (DeviceScope scope = new DeviceScope()) {
            for (Matrix argument : arguments) {
                scope.hold(argument);
            }
            boolean empty = rows == 0 || columns == 0;
            return new DeviceBuffer(empty ? null : make.apply(scope), true);
        }
    }

    private Matrix wrap(int rows, int columns, DeviceBuffer buffer) {
        return new DeviceMatrix(backend, rows, columns, false, buffer);
    }

    @Override
    public Matrix matrix(int rows, int columns, double[] rowMajor) {
        return made(rows, columns, scope -> arrays.of(rows, columns, rowMajor));
    }

    @Override
    public Matrix matrix(int rows, int columns, float[] rowMajor) {
        return matrix(rows, columns, FloatBuffer.wrap(rowMajor));
    }

    @Override
    public Matrix matrix(int rows, int columns, FloatBuffer rowMajor) {
        double[] values = new double[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = rowMajor.get(rowMajor.position() + i);
        }
        return matrix(rows, columns, values);
    }

    @Override
    public Matrix matrix(int rows, int columns, RowSource source) {
        double[] row = new double[columns];
        return made(rows, columns, scope -> {
            INDArray y = arrays.zeros(rows, columns);
            for (int i = 0; i < rows; i++) {
                source.read(i, row);
                DeviceArrays.rows(y, i, i + 1).assign(scope.temporary(arrays.of(1, columns, row)));
            }
            return y;
        });
    }

    @Override
    public Matrix buffer(int rows, int columns) {
        DeviceBuffer zeros = owned(rows, columns, scope -> arrays.zeros(rows, columns));
        return new DeviceMatrix(backend, rows, columns, true, zeros);
    }

    @Override
    public Matrix groupedMatmul(Matrix a, RowGroups groups, List<Matrix> b, boolean transB, int columns) {
        List<Matrix> arguments = new ArrayList<>(b);
        arguments.add(a);
        return made(
                a.rows(),
                columns,
                scope -> new DeviceProducts(arrays, scope).grouped(a, groups, b, transB, columns),
                arguments.toArray(Matrix[]::new));
    }

    @Override
    public List<Matrix> groupedMatmulTransA(Matrix a, Matrix b, RowGroups groups) {
        try (Unfinished made = new Unfinished()) {
            List<Matrix> products = new ArrayList<>();
            for (int g = 0; g < groups.count(); g++) {
                products.add(made.add(transA(a, b, groups.from(g), groups.to(g))));
            }
            made.keep();
            return List.copyOf(products);
        }
    }

    private Matrix transA(Matrix a, Matrix b, int from, int to) {
        return made(a.columns(), b.columns(), scope -> new DeviceProducts(arrays, scope).transA(a, b, from, to), a, b);
    }

    @Override
    public void accumulateMatmulTransA(Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into) {
        into.forEach((group, buffer) -> {
            try (Matrix product = transA(a, b, groups.from(group), groups.to(group))) { // one at a time
                accumulate(1, buffer, 0, product);
            }
        });
    }

    @Override
    public Matrix gatherRows(Matrix a, int[] rows) {
        return made(rows.length, a.columns(), scope -> Nd4j.pullRows(scope.array(a), 1, rows), a);
    }

    @Override
    public Matrix sumRows(Matrix a, int[] rows, double[] scales, int perRow) {
        int sums = rows.length / perRow;
        return made(sums, a.columns(), scope -> new DeviceProducts(arrays, scope).sumRows(a, rows, scales, perRow), a);
    }

    @Override
    public Matrix scaleRows(Matrix a, double[] scales) {
        return made(
                a.rows(),
                a.columns(),
                scope -> scope.array(a).dup('c').muliColumnVector(scope.temporary(arrays.column(scales))),
                a);
    }

    @Override
    public double[] rowDots(Matrix a, Matrix b) {
        try (DeviceScope scope = new DeviceScope()) {
            scope.hold(a);
            scope.hold(b);
            if (((DeviceMatrix) a).isEmpty()) {
                return new double[a.rows()];
            }
            INDArray products = scope.temporary(scope.array(a).mul(scope.array(b)));
            return scope.temporary(products.sum(1)).dup('c').data().asDouble();
        }
    }

    @Override
    public Matrix linearCombination(double alpha, Matrix a, double beta, Matrix b) {
        return made(
                a.rows(),
                a.columns(),
                scope -> scope.array(a)
                        .mul(alpha)
                        .addi(scope.temporary(scope.array(b).mul(beta))),
                a,
                b);
    }

    @Override
    public Matrix multiply(Matrix a, Matrix b) {
        return made(a.rows(), a.columns(), scope -> scope.array(a).mul(scope.array(b)), a, b);
    }

    @Override
    public Matrix activate(Activation activation, Projections projections) {
        Matrix up = projections.up();
        return made(
                up.rows(),
                up.columns(),
                scope -> new DeviceActivations(scope).value(activation, projections),
                arguments(projections));
    }

    private static Matrix[] arguments(Projections projections, Matrix... others) {
        List<Matrix> all = new ArrayList<>(List.of(others));
        projections.gate().ifPresent(all::add);
        all.add(projections.up());
        return all.toArray(Matrix[]::new);
    }

    @Override
    public Projections activateBackward(Activation activation, Projections projections, Matrix dHidden) {
        Matrix up = projections.up();
        Matrix[] all = arguments(projections, dHidden);
        try (Unfinished made = new Unfinished()) {
            Matrix dUp = made.add(made(
                    up.rows(),
                    up.columns(),
                    scope -> new DeviceActivations(scope).upGradient(activation, projections, dHidden),
                    all));
            Optional<Matrix> dGate = projections
                    .gate()
                    .map(gate -> made(
                            gate.rows(),
                            gate.columns(),
                            scope -> new DeviceActivations(scope).gateGradient(activation, projections, dHidden),
                            all));
            made.keep();
            return new Projections(dGate, dUp);
        }
    }

    @Override
    public void accumulate(double keep, Matrix buffer, int fromRow, Matrix a) {
        try (DeviceScope scope = new DeviceScope()) {
            scope.hold(buffer);
            scope.hold(a);
            if (((DeviceMatrix) a).isEmpty()) {
                return;
            }
            INDArray target = DeviceArrays.rows(scope.array(buffer), fromRow, fromRow + a.rows());
            if (keep == 0) {
                target.assign(scope.array(a));
            } else {
                target.assign(scope.temporary(target.mul(keep).addi(scope.array(a))));
            }
        }
    }

    @Override
    public OptionalLong firstNonFinite(Matrix a) {
        double[] values = a.toArray();
        for (int i = 0; i < values.length; i++) {
            if (!Double.isFinite(values[i])) {
                return OptionalLong.of(i);
            }
        }
        return OptionalLong.empty();
    }

    @Override
    public Matrix wrap(INDArray array) {
        boolean empty = array.isEmpty() || array.length() == 0;
        return wrap((int) array.size(0), (int) array.size(1), new DeviceBuffer(empty ? null : array, false));
    }

    @Override
    public INDArray unwrap(Matrix matrix) {
        try (DeviceScope scope = new DeviceScope()) {
            DeviceBuffer buffer = scope.hold(matrix);
            boolean empty = ((DeviceMatrix) matrix).isEmpty();
            return empty ? arrays.empty(matrix.rows(), matrix.columns()) : buffer.giveAway();
        }
    }
}
