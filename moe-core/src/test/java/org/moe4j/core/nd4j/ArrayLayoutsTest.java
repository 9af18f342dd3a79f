package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;
import static org.nd4j.linalg.indexing.NDArrayIndex.point;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.testing.Promise;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** An array of any layout is wrapped right or refused; what is computed from it has the bits of a copy, and it stays as it was. */
class ArrayLayoutsTest {
    private static final int LARGEST = 40;

    /** How an array may lie in memory. */
    private enum Layout {
        C,
        F,
        TRANSPOSED,
        OFFSET,
        STRIDED,
        SLICE;

        INDArray array(DataType type, int rows, int columns) {
            return switch (this) {
                case C -> Nd4j.create(type, new long[] {rows, columns}, 'c');
                case F -> Nd4j.create(type, new long[] {rows, columns}, 'f');
                case TRANSPOSED ->
                    Nd4j.create(type, new long[] {columns, rows}, 'c').transpose();
                case OFFSET ->
                    Nd4j.create(type, new long[] {rows + 2, columns + 3}, 'c')
                            .get(interval(1, 1 + rows), interval(2, 2 + columns));
                case STRIDED ->
                    Nd4j.create(type, new long[] {2L * rows + 1, 3L * columns}, 'c')
                            .get(interval(1, 2, 2L * rows + 1), interval(0, 3, 3L * columns));
                case SLICE ->
                    Nd4j.create(type, new long[] {3, rows, columns}, 'c').get(point(1), all(), all());
            };
        }
    }

    @Test
    void anyLayoutIsRightOrRefused() {
        check("layouts of arrays", 60);
    }

    @Test
    @Tag("soak")
    void anyLayoutIsRightOrRefusedInTheLongRun() {
        check("layouts of arrays in the long run", 2000);
    }

    private static void check(String what, int seeds) {
        int wrapped = 0;
        int refused = 0;
        for (int seed = 1; seed <= seeds; seed++) {
            for (Layout layout : Layout.values()) {
                for (Precision precision : Precision.values()) {
                    Strategy strategy = seed % 2 == 0 ? Strategy.HOST : Strategy.DEVICE;
                    boolean taken = new Case(seed, layout, precision, strategy).check();
                    wrapped += taken ? 1 : 0;
                    refused += taken ? 0 : 1;
                }
            }
        }
        assertThat(wrapped).isPositive();
        assertThat(refused).isPositive();
        Promise.measured(
                24,
                what,
                "0 wrong in %d arrays (%d wrapped, %d refused and right as copies)"
                        .formatted(wrapped + refused, wrapped, refused));
    }

    private record Case(int seed, Layout layout, Precision precision, Strategy strategy) {
        /** Whether the array was wrapped as it lies. */
        boolean check() {
            SplittableRandom random = new SplittableRandom(seed);
            int rows = 1 + random.nextInt(LARGEST);
            int columns = 1 + random.nextInt(LARGEST);
            double[] values = random.doubles((long) rows * columns, -1, 1)
                    .map(value -> precision == Precision.FLOAT32 ? (float) value : value)
                    .toArray();
            INDArray array = layout.array(NdArrayChecks.type(precision), rows, columns);
            for (int i = 0; i < values.length; i++) {
                array.putScalar(i / columns, i % columns, values[i]);
            }
            Nd4jBackend backend = Nd4jBackend.of(precision, strategy);
            boolean taken = isTaken(backend, array);
            try (Matrix matrix = backend.wrap(taken ? array : array.dup('c'));
                    Matrix copy = backend.matrix(rows, columns, values)) {
                assertThat(matrix.toArray()).as("%s", this).isEqualTo(values);
                assertThat(results(backend, matrix)).as("%s", this).isEqualTo(results(backend, copy));
            }
            for (int i = 0; i < values.length; i++) {
                assertThat(array.getDouble(i / columns, i % columns))
                        .as("%s afterwards", this)
                        .isEqualTo(values[i]);
            }
            return taken;
        }

        private boolean isTaken(Nd4jBackend backend, INDArray array) {
            try {
                backend.wrap(array).close();
                return true;
            } catch (IllegalArgumentException refused) {
                assertThat(refused).as("%s", this).hasMessageEndingWith("copy it with dup('c')");
                return false;
            }
        }

        /** One kernel of each way to read a matrix: by rows, by elements, as either side of a product. */
        private static double[][] results(Backend backend, Matrix a) {
            int[] index = {a.rows() - 1, 0};
            double[] scales = new double[a.rows()];
            Arrays.fill(scales, 0.5);
            try (Matrix gathered = backend.gatherRows(a, index);
                    Matrix scaled = backend.scaleRows(a, scales);
                    Matrix sum = backend.linearCombination(2, a, 1, a);
                    Matrix outer = backend.matmulTransB(a, a);
                    Matrix inner = backend.matmulTransA(a, a);
                    Matrix product = backend.multiply(a, a)) {
                return new double[][] {
                    gathered.toArray(),
                    scaled.toArray(),
                    sum.toArray(),
                    outer.toArray(),
                    inner.toArray(),
                    product.toArray(),
                    backend.rowDots(a, a)
                };
            }
        }
    }
}
