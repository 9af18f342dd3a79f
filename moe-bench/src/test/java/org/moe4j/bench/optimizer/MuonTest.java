package org.moe4j.bench.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Matrices here are arrays of rows, and orthogonal ones are made by Gram and Schmidt. */
final class MuonTest {
    private static final double USUAL_EPSILON = 1e-7;

    /**
     * All expected matrices come from singular values that are known by construction. Roundings of at most 12 terms in 5
     * iterations, each of which multiplies errors by at most 3.4445: 12·500·2⁻⁵³ = 7e-13.
     */
    private static final double ROUNDING = 1e-12;

    @Nested
    final class Iteration {
        /** {@code A = U·diag(σ)·Vᵀ} becomes {@code U·diag(p⁵(σ / (‖σ‖ + ε)))·Vᵀ}. */
        @ParameterizedTest
        @CsvSource({"5, 5, 1", "3, 8, 2", "8, 3, 3", "1, 6, 4", "6, 1, 5", "1, 1, 6", "12, 12, 7"})
        void actsOnTheSingularValuesAlone(int rows, int columns, long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            double[] values = random.doubles(Math.min(rows, columns), 0.05, 3).toArray();
            double[][] left = orthonormalRows(values.length, rows, random);
            double[][] right = orthonormalRows(values.length, columns, random);
            double norm = Math.sqrt(Arrays.stream(values).map(s -> s * s).sum());
            double epsilon = 0.01;
            double[] mapped =
                    Arrays.stream(values).map(s -> five(s / (norm + epsilon))).toArray();
            assertThat(NewtonSchulz.iterate(flat(composed(left, values, right)), columns, 5, epsilon))
                    .containsExactly(flat(composed(left, mapped, right)), within(ROUNDING));
        }

        /**
         * p has its local extrema where {@code a + 3b·s² + 5c·s⁴ = 0}; what an iteration finds between 0.22 and 1.21 it leaves
         * between their values 0.6818 and 1.2024, and it takes four iterations at most to come there from 0.01.
         */
        @Test
        void singularValuesEndNearOne() {
            double root = Math.sqrt(4.775 * 4.775 * 9 - 20 * 2.0315 * 3.4445);
            double most = once(Math.sqrt((3 * 4.775 - root) / (10 * 2.0315)));
            double least = once(Math.sqrt((3 * 4.775 + root) / (10 * 2.0315)));
            assertThat(least).isCloseTo(0.6818, within(5e-5));
            assertThat(most).isCloseTo(1.2024, within(5e-5));
            for (long seed = 1; seed <= 20; seed++) {
                SplittableRandom random = new SplittableRandom(seed);
                double[] values = random.doubles(6, 0.1, 3).toArray(); // at least 0.1/(3·√6) = 0.0136 of the norm
                double[][] left = orthonormalRows(6, 9, random);
                double[][] right = orthonormalRows(6, 6, random);
                double[][] result =
                        rows(NewtonSchulz.iterate(flat(composed(left, values, right)), 6, 5, USUAL_EPSILON), 6);
                for (int k = 0; k < 6; k++) {
                    double[] image = times(result, right[k]);
                    assertThat(Math.sqrt(dot(image, image)))
                            .as("seed %d, singular value %d", seed, k)
                            .isBetween(least - ROUNDING, most + ROUNDING);
                    assertThat(dot(image, left[k])).as("no turn").isPositive();
                }
            }
        }

        /** {@code NS(QᵀAR) = Qᵀ·NS(A)·R} for orthogonal Q and R, of matrices that are not made of known singular values. */
        @ParameterizedTest
        @ValueSource(longs = {1, 2, 3})
        void turnsWithItsMatrix(long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            double[][] a = normal(4, 7, random);
            double[][] q = orthonormalRows(4, 4, random);
            double[][] r = orthonormalRows(7, 7, random);
            double[][] turned = product(product(transposed(q), a), r);
            double[][] expected =
                    product(product(transposed(q), rows(NewtonSchulz.iterate(flat(a), 7, 5, USUAL_EPSILON), 7)), r);
            assertThat(NewtonSchulz.iterate(flat(turned), 7, 5, USUAL_EPSILON))
                    .containsExactly(flat(expected), within(ROUNDING));
        }

        @Test
        void aTransposedMatrixHasTheTransposedResult() {
            double[][] a = normal(3, 5, new SplittableRandom(9));
            assertThat(NewtonSchulz.iterate(flat(transposed(a)), 3, 5, USUAL_EPSILON))
                    .containsExactly(
                            flat(transposed(rows(NewtonSchulz.iterate(flat(a), 5, 5, USUAL_EPSILON), 5))),
                            within(ROUNDING));
        }

        @Test
        void zerosStayAndNoIterationOnlyNormalises() {
            assertThat(NewtonSchulz.iterate(new double[6], 3, 5, 0)).containsOnly(0);
            assertThat(NewtonSchulz.iterate(new double[0], 3, 5, 0)).isEmpty();
            assertThat(NewtonSchulz.iterate(new double[] {3, 4}, 2, 0, 0))
                    .containsExactly(new double[] {0.6, 0.8}, within(1e-16));
        }
    }

    @Nested
    final class Step {
        /** A row's only singular value is its length: every step goes {@code p⁵(1)} along the Nesterov momentum. */
        @Test
        void ofARowHasAClosedForm() {
            double[] theta = {1, -2, 3};
            double[] b = new double[3];
            Muon muon = new Muon(theta, 3, new Muon.Settings(0.9, 0, 0.5, Muon.Scale.ORIGINAL));
            SplittableRandom random = new SplittableRandom(3);
            for (int step = 0; step < 10; step++) {
                double[] g = random.doubles(3, -1, 1).toArray();
                double[] n = new double[3];
                for (int k = 0; k < 3; k++) {
                    b[k] = 0.9 * b[k] + g[k];
                    n[k] = g[k] + 0.9 * b[k];
                }
                double length = Math.sqrt(dot(n, n));
                for (int k = 0; k < 3; k++) {
                    theta[k] -= 0.1 * (five(1) * n[k] / length + 0.5 * theta[k]);
                }
                muon.step(g, 0.1);
                assertThat(muon.values()).containsExactly(theta, within(ROUNDING));
                assertThat(muon.momentum()).containsExactly(b, within(ROUNDING));
            }
        }

        /** Rows over columns count, not columns over rows: weights are (out × in). */
        @ParameterizedTest
        @CsvSource({"ORIGINAL, 8, 2, 2", "ORIGINAL, 2, 8, 1", "ORIGINAL, 4, 4, 1"})
        void isLongerForTallMatrices(Muon.Scale scale, int rows, int columns, double expected) {
            assertThat(factor(scale, rows, columns)).isCloseTo(expected, within(ROUNDING));
        }

        /** {@code 0.2·√max}: a polar factor of (A×B) has min(A, B) ones, and so an RMS of {@code 1/√max(A, B)}. */
        @ParameterizedTest
        @CsvSource({"8, 2", "2, 8", "4, 4"})
        void mayHaveTheRootMeanSquareOfAdam(int rows, int columns) {
            assertThat(factor(Muon.Scale.MATCHED_RMS, rows, columns) / Math.sqrt(Math.max(rows, columns)))
                    .isCloseTo(0.2, within(ROUNDING));
        }

        /** What multiplies a step of a matrix with equal singular values, in units of {@code p⁵(1/√k)}. */
        private double factor(Muon.Scale scale, int rows, int columns) {
            int k = Math.min(rows, columns);
            double[][] gradient = new double[rows][columns];
            for (int i = 0; i < k; i++) {
                gradient[i][i] = 1;
            }
            Muon muon = new Muon(new double[rows * columns], columns, new Muon.Settings(0, 0, 0, scale));
            muon.step(flat(gradient), 1);
            return -muon.values()[0] / five(1 / Math.sqrt(k));
        }

        /**
         * {@code [I 2I]} has the singular value √5 twice, its slices I and 2I have 1 and 2 twice: normalised all are 1/√2. So
         * the slices step along the identity, each as far, and the whole along [I 2I]/√5.
         */
        @Test
        void ofAWideMatrixIsNotMadeOfTheStepsOfItsSlices() {
            Muon.Settings settings = new Muon.Settings(0.95, 0, 0, Muon.Scale.ORIGINAL);
            Muon wide = new Muon(new double[8], 4, settings);
            Muon slice = new Muon(new double[4], 2, settings);
            Muon twice = new Muon(new double[4], 2, settings);
            wide.step(new double[] {1, 0, 2, 0, 0, 1, 0, 2}, 1);
            slice.step(new double[] {1, 0, 0, 1}, 1);
            twice.step(new double[] {2, 0, 0, 2}, 1);
            double far = -five(Math.sqrt(0.5));
            double five = Math.sqrt(5);
            assertThat(slice.values()).containsExactly(new double[] {far, 0, 0, far}, within(ROUNDING));
            assertThat(twice.values()).containsExactly(new double[] {far, 0, 0, far}, within(ROUNDING));
            assertThat(wide.values())
                    .containsExactly(
                            new double[] {far / five, 0, 2 * far / five, 0, 0, far / five, 0, 2 * far / five},
                            within(ROUNDING));
        }

        @Test
        void ofAResumedRunHasTheBitsOfTheWholeOne() {
            Muon.Settings settings = new Muon.Settings(0.95, USUAL_EPSILON, 0.1, Muon.Scale.MATCHED_RMS);
            SplittableRandom random = new SplittableRandom(2);
            Muon whole = new Muon(flat(normal(3, 4, random)), 4, settings);
            whole.step(flat(normal(3, 4, random)), 0.1);
            double[] momentum = whole.momentum();
            Muon resumed = new Muon(whole.values(), 4, settings, momentum);
            Arrays.fill(momentum, 7); // a copy
            for (int step = 0; step < 5; step++) {
                double[] gradient = flat(normal(3, 4, random));
                whole.step(gradient, 0.1);
                resumed.step(gradient, 0.1);
                assertThat(resumed.values()).containsExactly(whole.values());
            }
        }

        @Test
        void ofWrongNumbersIsRefused() {
            Muon.Settings settings = new Muon.Settings(0.95, 0, 0, Muon.Scale.ORIGINAL);
            assertThatThrownBy(() -> new Muon(new double[6], 4, settings))
                    .hasMessage("columns: expected a divisor of 6 (parameters) but was 4");
            assertThatThrownBy(() -> new Muon(new double[6], 0, settings))
                    .hasMessage("columns: expected at least 1 but was 0");
            assertThatThrownBy(() -> new Muon(new double[6], 3, settings, new double[5]))
                    .hasMessage("momentum: expected 6 numbers (parameters) but was 5");
            assertThatThrownBy(() -> new Muon(new double[6], 3, settings).step(new double[5], 0.1))
                    .hasMessage("gradient: expected 6 numbers (parameters) but was 5");
            assertThatThrownBy(() -> new Muon.Settings(1, 0, 0, Muon.Scale.ORIGINAL))
                    .hasMessage("momentum: expected a number in [0, 1) but was 1.0");
            assertThatThrownBy(() -> new Muon.Settings(0, -1, 0, Muon.Scale.ORIGINAL))
                    .hasMessage("epsilon: expected a number of at least 0 but was -1.0");
            assertThatThrownBy(() -> new Muon.Settings(0, 0, -1, Muon.Scale.ORIGINAL))
                    .hasMessage("decay: expected a number of at least 0 but was -1.0");
        }
    }

    /** p of one singular value. */
    private static double once(double s) {
        return s * (3.4445 - s * s * (4.7750 - s * s * 2.0315));
    }

    private static double five(double s) {
        return once(once(once(once(once(s)))));
    }

    private static double[][] normal(int rows, int columns, SplittableRandom random) {
        double[][] drawn = new double[rows][];
        Arrays.setAll(drawn, i -> random.doubles(columns).map(u -> 2 * u - 1).toArray());
        return drawn;
    }

    /** Gram and Schmidt twice over, so that the rows are orthogonal to the last bits. */
    private static double[][] orthonormalRows(int rows, int columns, SplittableRandom random) {
        double[][] q = normal(rows, columns, random);
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < rows; i++) {
                for (int j = 0; j < i; j++) {
                    add(q[i], -dot(q[i], q[j]), q[j]);
                }
                add(q[i], 1 / Math.sqrt(dot(q[i], q[i])) - 1, q[i]);
            }
        }
        return q;
    }

    private static void add(double[] to, double factor, double[] row) {
        for (int k = 0; k < to.length; k++) {
            to[k] += factor * row[k];
        }
    }

    /** {@code Σ σ_k · left_kᵀ · right_k}. */
    private static double[][] composed(double[][] left, double[] values, double[][] right) {
        double[][] sum = new double[left[0].length][right[0].length];
        for (int k = 0; k < values.length; k++) {
            for (int i = 0; i < sum.length; i++) {
                add(sum[i], values[k] * left[k][i], right[k]);
            }
        }
        return sum;
    }

    private static double[][] product(double[][] a, double[][] b) {
        double[][] product = new double[a.length][b[0].length];
        for (int i = 0; i < a.length; i++) {
            for (int k = 0; k < b.length; k++) {
                add(product[i], a[i][k], b[k]);
            }
        }
        return product;
    }

    private static double[] times(double[][] a, double[] x) {
        return Arrays.stream(a).mapToDouble(row -> dot(row, x)).toArray();
    }

    private static double[][] transposed(double[][] a) {
        double[][] turned = new double[a[0].length][a.length];
        for (int i = 0; i < a.length; i++) {
            for (int j = 0; j < a[i].length; j++) {
                turned[j][i] = a[i][j];
            }
        }
        return turned;
    }

    private static double[] flat(double[][] a) {
        return Arrays.stream(a).flatMapToDouble(Arrays::stream).toArray();
    }

    private static double[][] rows(double[] flat, int columns) {
        double[][] rows = new double[flat.length / columns][];
        Arrays.setAll(rows, i -> Arrays.copyOfRange(flat, i * columns, (i + 1) * columns));
        return rows;
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int k = 0; k < a.length; k++) {
            sum += a[k] * b[k];
        }
        return sum;
    }
}
