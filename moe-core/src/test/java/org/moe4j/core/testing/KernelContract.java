package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.testing.definition.PlainProducts;

/** Each kernel against its formula, written here once more as loops on arrays. */
abstract class KernelContract {
    protected static final String SEEDS = "org.moe4j.core.testing.Cases#seeds";
    protected static final String REPLAY = "-Dmoe.seed={0}";

    /** The backend under test. */
    protected abstract Backend backend();

    double u() {
        return backend().unitRoundoff();
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void groupedProductsAreSumsOfProducts(long seed) {
        Cases cases = new Cases(seed);
        for (int p : Cases.SIZES) {
            groupedProduct(cases, p, cases.size(), false);
            groupedProduct(cases, p, cases.size(), true);
        }
    }

    private void groupedProduct(Cases cases, int p, int q, boolean transB) {
        RowGroups groups = cases.allSizes();
        Matrix a = cases.matrix(backend(), groups.rows(), p);
        List<Matrix> b = new ArrayList<>();
        for (int g = 0; g < groups.count(); g++) {
            b.add(transB ? cases.matrix(backend(), q, p) : cases.matrix(backend(), p, q));
        }
        Matrix y =
                transB ? backend().groupedMatmulTransB(a, groups, b) : backend().groupedMatmul(a, groups, b);
        assertThat(y.rows()).isEqualTo(groups.rows());
        assertThat(y.columns()).isEqualTo(q);
        double[] left = a.toArray();
        double[] all = y.toArray();
        for (int g = 0; g < groups.count(); g++) {
            int from = groups.from(g);
            PlainProducts expected =
                    PlainProducts.product(left, from, groups.to(g), p, b.get(g).toArray(), q, transB);
            double[] actual = Arrays.copyOfRange(all, from * q, groups.to(g) * q);
            String what = "group of " + groups.size(g) + ", p " + p + ", q " + q;
            Tolerance.assertWithin(what, actual, expected.values, expected.tolerances(p, u()));
        }
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void groupedMatmulTransASumsOverTheRowsOfEachGroup(long seed) {
        Cases cases = new Cases(seed);
        for (int p : Cases.SIZES) {
            int q = cases.size();
            RowGroups groups = cases.allSizes();
            Matrix a = cases.matrix(backend(), groups.rows(), p);
            Matrix b = cases.matrix(backend(), groups.rows(), q);
            List<Matrix> y = backend().groupedMatmulTransA(a, b, groups);
            assertThat(y).hasSize(groups.count());
            for (int g = 0; g < groups.count(); g++) {
                PlainProducts expected =
                        PlainProducts.transA(a.toArray(), b.toArray(), groups.from(g), groups.to(g), p, q);
                String what = "group of " + groups.size(g) + ", p " + p + ", q " + q;
                double[] tolerances = expected.tolerances(groups.size(g), u());
                Tolerance.assertWithin(what, y.get(g).toArray(), expected.values, tolerances);
            }
        }
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void accumulateMatmulTransAAddsToTheBuffersThereAre(long seed) {
        Cases cases = new Cases(seed);
        for (int p : Cases.SIZES) {
            int q = cases.size();
            RowGroups groups = cases.allSizes();
            Matrix a = cases.matrix(backend(), groups.rows(), p);
            Matrix b = cases.matrix(backend(), groups.rows(), q);
            Map<Integer, Matrix> into = new HashMap<>();
            Map<Integer, double[]> old = new HashMap<>();
            for (int g = cases.below(2); g < groups.count(); g += 2) {
                Matrix buffer = backend().buffer(p, q);
                backend().accumulate(0, buffer, 0, cases.matrix(backend(), p, q));
                into.put(g, buffer);
                old.put(g, buffer.toArray());
            }
            backend().accumulateMatmulTransA(a, b, groups, into);
            into.forEach((g, buffer) -> {
                PlainProducts product =
                        PlainProducts.transA(a.toArray(), b.toArray(), groups.from(g), groups.to(g), p, q);
                double[] expected = old.get(g);
                double[] tolerances = product.tolerances(groups.size(g), u());
                for (int i = 0; i < expected.length; i++) {
                    tolerances[i] += Tolerance.roundings(2, u(), Math.abs(expected[i]) + product.gauges[i]);
                    expected[i] += product.values[i];
                }
                String what = "group of " + groups.size(g) + ", p " + p + ", q " + q;
                Tolerance.assertWithin(what, buffer.toArray(), expected, tolerances);
            });
        }
    }

    @Test
    void productsWithoutGroupsAreThoseOfOneGroup() {
        Cases cases = new Cases(1);
        Matrix a = cases.matrix(backend(), 5, 3);
        Matrix b = cases.matrix(backend(), 3, 4);
        Matrix c = cases.matrix(backend(), 4, 3);
        Matrix d = cases.matrix(backend(), 5, 2);
        RowGroups one = RowGroups.single(5);
        assertSameBits(backend().matmul(a, b), backend().groupedMatmul(a, one, List.of(b)));
        assertSameBits(backend().matmulTransB(a, c), backend().groupedMatmulTransB(a, one, List.of(c)));
        assertSameBits(
                backend().matmulTransA(a, d),
                backend().groupedMatmulTransA(a, d, one).get(0));
        assertSameBits(backend().add(a, a), backend().linearCombination(2, a, 0, a));
        assertThat(backend().groupedMatmul(backend().matrix(0, 3, new double[0]), RowGroups.ofSizes(), List.of()))
                .matches(y -> y.rows() == 0);
    }

    protected static void assertSameBits(Matrix actual, Matrix expected) {
        assertThat(actual.toArray()).containsExactly(expected.toArray());
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void gatherRowsCopiesRows(long seed) {
        Cases cases = new Cases(seed);
        for (int columns : Cases.SIZES) {
            int[] rows = cases.indices(cases.size(), 17);
            Matrix a = cases.matrix(backend(), 17, columns);
            double[] from = a.toArray();
            double[] expected = new double[rows.length * columns];
            for (int i = 0; i < rows.length; i++) {
                System.arraycopy(from, rows[i] * columns, expected, i * columns, columns);
            }
            assertThat(backend().gatherRows(a, rows).toArray()).containsExactly(expected);
        }
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void sumRowsAddsScaledRowsAndSkipsMinusOne(long seed) {
        Cases cases = new Cases(seed);
        for (int columns : Cases.SIZES) {
            int perRow = 1 + cases.below(8);
            int sums = cases.size();
            double[] from = cases.doubles(9 * columns);
            Arrays.fill(from, 8 * columns, 9 * columns, Double.POSITIVE_INFINITY); // never asked for
            Matrix a = backend().matrix(9, columns, from);
            int[] rows = cases.indices(sums * perRow, 9);
            Arrays.setAll(rows, i -> rows[i] - 1);
            double[] scales = cases.doubles(rows.length);
            double[] rounded = a.toArray();
            double[] expected = new double[sums * columns];
            double[] tolerances = new double[expected.length];
            for (int i = 0; i < expected.length; i++) {
                double gauge = 0;
                for (int slot = i / columns * perRow; slot < (i / columns + 1) * perRow; slot++) {
                    double term = rows[slot] < 0 ? 0 : scales[slot] * rounded[rows[slot] * columns + i % columns];
                    expected[i] += term;
                    gauge += Math.abs(term);
                }
                tolerances[i] = Tolerance.roundings(perRow + 2, u(), gauge);
            }
            Tolerance.assertWithin(
                    "sumRows", backend().sumRows(a, rows, scales, perRow).toArray(), expected, tolerances);
        }
    }

    @Test
    void sumRowsOfNoRowsIsZero() {
        Matrix none = backend().matrix(0, 3, new double[0]);
        double[] sums = backend()
                .sumRows(none, new int[] {-1, -1, -1, -1}, new double[4], 2)
                .toArray();
        assertThat(sums).containsExactly(new double[6]);
        assertThat(backend().sumRows(none, new int[0], new double[0], 2).rows()).isZero();
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void rowsAreScaledDottedAndCombined(long seed) {
        Cases cases = new Cases(seed);
        for (int columns : Cases.SIZES) {
            int rows = cases.size();
            Matrix a = cases.matrix(backend(), rows, columns);
            Matrix b = cases.matrix(backend(), rows, columns);
            double[] x = a.toArray();
            double[] y = b.toArray();
            double[] scales = cases.doubles(rows);
            double[] scaled = new double[x.length];
            double[] combined = new double[x.length];
            double[] tolerances = new double[x.length];
            double[] dots = new double[rows];
            double[] dotTolerances = new double[rows];
            for (int i = 0; i < x.length; i++) {
                scaled[i] = scales[i / columns] * x[i];
                combined[i] = 0.3 * x[i] - 1.7 * y[i];
                tolerances[i] = Tolerance.roundings(3, u(), Math.abs(0.3 * x[i]) + Math.abs(1.7 * y[i]));
                dots[i / columns] += x[i] * y[i];
                dotTolerances[i / columns] += Tolerance.gemm(columns, u(), Math.abs(x[i] * y[i]));
            }
            double[] scaleTolerances = Arrays.stream(scaled)
                    .map(s -> Tolerance.roundings(2, u(), s) * 1.01)
                    .toArray();
            Tolerance.assertWithin("scaleRows", backend().scaleRows(a, scales).toArray(), scaled, scaleTolerances);
            Tolerance.assertWithin(
                    "linearCombination",
                    backend().linearCombination(0.3, a, -1.7, b).toArray(),
                    combined,
                    tolerances);
            Tolerance.assertWithin("rowDots", backend().rowDots(a, b), dots, dotTolerances);
        }
    }

    @Test
    void accumulateKeepsAndAdds() {
        Matrix buffer = backend().buffer(4, 2);
        assertThat(buffer.toArray()).containsExactly(new double[8]);
        Matrix a = backend().matrix(2, 2, new double[] {1, 2, 3, 4});
        backend().accumulate(1, buffer, 1, a);
        backend().accumulate(0.5, buffer, 2, a);
        assertThat(buffer.toArray()).containsExactly(0, 0, 1, 2, 2.5, 4, 3, 4);
        backend().accumulate(1, buffer, 4, backend().matrix(0, 2, new double[0]));
        backend().accumulate(1, buffer, 0, backend().matrix(1, 2, new double[] {Double.NaN, 0}));
        backend().accumulate(0, buffer, 0, a);
        assertThat(buffer.toArray()).containsExactly(1, 2, 3, 4, 2.5, 4, 3, 4);
    }

    @Test
    void firstNonFiniteIsInRowMajorOrder() {
        double[] values = new Cases(3).doubles(7 * 5);
        assertThat(backend().firstNonFinite(backend().matrix(7, 5, values))).isEmpty();
        assertThat(backend().firstNonFinite(backend().matrix(0, 5, new double[0])))
                .isEmpty();
        values[33] = Double.NaN;
        assertThat(backend().firstNonFinite(backend().matrix(7, 5, values))).hasValue(33);
        values[11] = Double.NEGATIVE_INFINITY;
        assertThat(backend().firstNonFinite(backend().matrix(7, 5, values))).hasValue(11);
    }

    @Test
    void matricesAreFilledFromEverySource() {
        float[] floats = {0.1f, -2, 3e-7f, 4, 5, 6};
        double[] expected = {0.1f, -2, 3e-7f, 4, 5, 6};
        FloatBuffer buffer = FloatBuffer.allocate(8);
        buffer.position(2);
        buffer.put(floats).position(2);
        RowSource source = new RowSource() {
            @Override
            public void read(int row, float[] into) {
                System.arraycopy(floats, row * 2, into, 0, 2);
            }

            @Override
            public void read(int row, double[] into) {
                System.arraycopy(expected, row * 2, into, 0, 2);
            }
        };
        assertThat(backend().matrix(3, 2, expected).toArray()).containsExactly(expected);
        assertThat(backend().matrix(3, 2, floats).toArray()).containsExactly(expected);
        assertThat(backend().matrix(3, 2, buffer).toArray()).containsExactly(expected);
        assertThat(backend().matrix(3, 2, source).toArray()).containsExactly(expected);
        assertThat(buffer.position()).isEqualTo(2);
        assertThat(backend().matrix(3, 2, expected).get(2, 1)).isEqualTo(6);
        assertThat(backend().matrix(0, 2, source).toArray()).isEmpty();
        assertThat(backend().matrix(1, 1, new double[] {1 / 3.0}).get(0, 0))
                .isEqualTo(u() == 0x1p-53 ? 1 / 3.0 : (float) (1 / 3.0));
    }
}
