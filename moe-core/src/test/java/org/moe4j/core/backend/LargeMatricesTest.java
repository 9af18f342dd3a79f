package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.vector.VectorBackend;

/**
 * Kernels on matrices so large that they are worked off in several pieces, by several threads, beside loops over all of them. The numbers
 * are small and whole, so that every result is exact in either precision, in any order.
 */
final class LargeMatricesTest {
    private static final int ROWS = 531;
    private static final int COLUMNS = 257; // three pieces of 65,536 numbers, none of which ends with a row
    private static final int COUNT = ROWS * COLUMNS;

    static List<Backend> backends() {
        return List.of(
                VectorBackend.float32().withWorkers(3),
                VectorBackend.float64().withWorkers(3),
                Nd4jBackend.of(Precision.FLOAT32, Strategy.HOST).withWorkers(3),
                Nd4jBackend.of(Precision.FLOAT64, Strategy.HOST).withWorkers(3));
    }

    private static double[] numbers(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        double[] numbers = new double[count];
        Arrays.setAll(numbers, i -> random.nextInt(-31, 32));
        return numbers;
    }

    private static int[] order(long seed) {
        return new SplittableRandom(seed).ints(ROWS, 0, ROWS).toArray();
    }

    private interface Element {
        double at(int row, int column);
    }

    private static void same(Matrix actual, int rows, Element expected) {
        double[] all = new double[rows * COLUMNS];
        Arrays.setAll(all, i -> expected.at(i / COLUMNS, i % COLUMNS) + 0.0); // zeros of one sign
        try (actual) {
            double[] values = actual.toArray();
            Arrays.setAll(values, i -> values[i] + 0.0);
            assertThat(values).isEqualTo(all);
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void rowsAreThoseAskedFor(Backend backend) {
        double[] a = numbers(1, COUNT);
        double[] scales = numbers(2, ROWS);
        int[] rows = order(3);
        int[] two = IntStream.concat(Arrays.stream(order(4)), Arrays.stream(order(5)))
                .toArray();
        double[] ofTwo = numbers(6, two.length);
        try (Matrix m = backend.matrix(ROWS, COLUMNS, a)) {
            same(backend.gatherRows(m, rows), ROWS, (r, c) -> a[rows[r] * COLUMNS + c]);
            same(backend.scaleRows(m, scales), ROWS, (r, c) -> scales[r] * a[r * COLUMNS + c]);
            same(
                    backend.sumRows(m, two, ofTwo, 2),
                    ROWS,
                    (r, c) -> ofTwo[2 * r] * a[two[2 * r] * COLUMNS + c]
                            + ofTwo[2 * r + 1] * a[two[2 * r + 1] * COLUMNS + c]);
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void elementsAreThoseOfBothMatrices(Backend backend) {
        double[] a = numbers(7, COUNT);
        double[] b = numbers(8, COUNT);
        double[] dots = new double[ROWS];
        for (int i = 0; i < COUNT; i++) {
            dots[i / COLUMNS] += a[i] * b[i];
        }
        try (Matrix left = backend.matrix(ROWS, COLUMNS, a);
                Matrix right = backend.matrix(ROWS, COLUMNS, b);
                Matrix buffer = backend.buffer(ROWS + 2, COLUMNS)) {
            assertThat(backend.rowDots(left, right)).isEqualTo(dots);
            same(
                    backend.linearCombination(2, left, -3, right),
                    ROWS,
                    (r, c) -> 2 * a[r * COLUMNS + c] - 3 * b[r * COLUMNS + c]);
            same(backend.multiply(left, right), ROWS, (r, c) -> a[r * COLUMNS + c] * b[r * COLUMNS + c]);
            backend.accumulate(0, buffer, 1, left);
            backend.accumulate(0.5, buffer, 1, right);
            same(
                    buffer.share(),
                    ROWS + 2,
                    (r, c) -> r < 1 || r > ROWS ? 0 : 0.5 * a[(r - 1) * COLUMNS + c] + b[(r - 1) * COLUMNS + c]);
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void activationsReachTheLastElement(Backend backend) {
        double[] up = numbers(9, COUNT);
        double[] d = numbers(10, COUNT);
        try (Matrix of = backend.matrix(ROWS, COLUMNS, up);
                Matrix dHidden = backend.matrix(ROWS, COLUMNS, d)) {
            Activation relu = new Activation.Relu();
            same(backend.activate(relu, Projections.of(of)), ROWS, (r, c) -> Math.max(0, up[r * COLUMNS + c]));
            same(
                    backend.activateBackward(relu, Projections.of(of), dHidden).up(),
                    ROWS,
                    (r, c) -> up[r * COLUMNS + c] > 0 ? d[r * COLUMNS + c] : 0);
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void whatIsNotFiniteIsFoundWhereItIs(Backend backend) {
        for (int at : new int[] {0, 65_535, 65_536, 65_537, 131_072, COUNT - 1}) {
            double[] a = numbers(11, COUNT);
            a[at] = Double.NaN;
            a[COUNT - 1] = Double.POSITIVE_INFINITY;
            try (Matrix m = backend.matrix(ROWS, COLUMNS, a)) {
                assertThat(backend.firstNonFinite(m)).hasValue(at);
            }
        }
    }

    /** More than 2²⁰ numbers, which are read by several threads. */
    @ParameterizedTest
    @MethodSource("backends")
    void everyRowOfASourceIsRead(Backend backend) {
        int rows = (1 << 21) / COLUMNS + 3;
        try (Matrix m = backend.matrix(rows, COLUMNS, new RowSource() {
            @Override
            public void read(int row, float[] into) {
                for (int c = 0; c < COLUMNS; c++) {
                    into[c] = row + c;
                }
            }

            @Override
            public void read(int row, double[] into) {
                Arrays.setAll(into, c -> row + c);
            }
        })) {
            same(m.share(), rows, (r, c) -> r + c);
        }
    }
}
