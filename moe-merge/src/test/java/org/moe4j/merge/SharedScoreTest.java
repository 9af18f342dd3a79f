package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.testing.FiniteDifferences;

class SharedScoreTest {
    private static double[] random(int length, double bound, long seed) {
        return new SplittableRandom(seed).doubles(length, -bound, bound).toArray();
    }

    private static double[] of(SharedScore score, double... z) {
        return score.coefficients(z, z.length);
    }

    /** The formula as it stands; good for z of a moderate size. */
    private static double plain(SharedScore score, double[] z, int row, int expert, int experts) {
        double sum = 0;
        double[] scores = new double[experts];
        for (int j = 0; j < experts; j++) {
            double exponential = Math.exp(z[row * experts + j]);
            scores[j] = score == SharedScore.SOFTMAX ? exponential : exponential / (1 + exponential);
            sum += scores[j];
        }
        return score == SharedScore.SIGMOID ? scores[expert] : scores[expert] / sum;
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void followsItsFormula(SharedScore score) {
        for (int experts = 1; experts < 6; experts++) {
            double[] z = random(7 * experts, 5, experts);
            double[] before = z.clone();
            double[] c = score.coefficients(z, experts);
            for (int i = 0; i < z.length; i++) {
                assertThat(c[i]).isCloseTo(plain(score, z, i / experts, i % experts, experts), within(1e-15));
            }
            assertThat(z).containsExactly(before);
        }
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void agreesWithDifferences(SharedScore score) {
        for (int experts = 1; experts < 6; experts++) {
            int n = experts;
            double[] z = random(4 * experts, 4, experts);
            double[] dC = random(4 * experts, 1, experts + 10L);
            double[] numeric = FiniteDifferences.gradient(
                    at -> {
                        double[] c = score.coefficients(at, n);
                        double sum = 0;
                        for (int i = 0; i < c.length; i++) {
                            sum += c[i] * dC[i];
                        }
                        return sum;
                    },
                    z);
            double[] analytic = score.backward(z, score.coefficients(z, n), dC, n);
            assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(numeric)))
                    .isLessThanOrEqualTo(1);
        }
    }

    @Test
    void sigmoidsKeepTheirDigitsFarOut() {
        assertThat(of(SharedScore.SIGMOID, 1e4, -1e4, 800, -800, 0)).containsExactly(1, 0, 1, 0, .5);
        assertThat(of(SharedScore.SIGMOID, -740)[0])
                .isEqualTo(StrictMath.exp(-740))
                .isPositive();
        assertThat(of(SharedScore.SIGMOID, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY))
                .containsExactly(1, 0);
        double[] z = {40, -40};
        double[] slopes = SharedScore.SIGMOID.backward(z, of(SharedScore.SIGMOID, z), new double[] {1, 1}, 2);
        double expected = Math.exp(-40) / ((1 + Math.exp(-40)) * (1 + Math.exp(-40)));
        assertThat(slopes[0]).isCloseTo(expected, within(1e-15 * expected)); // 1 − σ(40) is 0 in double
        assertThat(slopes[1]).isCloseTo(expected, within(1e-15 * expected));
    }

    @Test
    void softmaxSubtractsTheMaximum() {
        assertThat(of(SharedScore.SOFTMAX, 1e4, -1e4, 0)).containsExactly(1, 0, 0);
        assertThat(of(SharedScore.SOFTMAX, -1000, -1000)).containsExactly(.5, .5);
        assertThat(of(SharedScore.SOFTMAX, 800, 801)[1]).isCloseTo(1 / (1 + Math.exp(-1)), within(1e-15));
        assertThat(of(SharedScore.SOFTMAX, -Double.MAX_VALUE, Double.MAX_VALUE)).containsExactly(0, 1);
    }

    @Test
    void sigmoidsThatUnderflowKeepTheirRatio() {
        assertThat(of(SharedScore.NORMALIZED_SIGMOID, -1000, -1000, -1000, -1000))
                .containsExactly(.25, .25, .25, .25);
        assertThat(of(SharedScore.NORMALIZED_SIGMOID, -800, -801)[0])
                .isCloseTo(1 / (1 + Math.exp(-1)), within(1e-15)); // e^−800 / (e^−800 + e^−801)
        assertThat(of(SharedScore.NORMALIZED_SIGMOID, 1e4, 800, -1e4)).containsExactly(.5, .5, 0);
        assertThat(of(SharedScore.NORMALIZED_SIGMOID, 0, 1e4)[0]).isCloseTo(1 / 3.0, within(1e-15)); // ½ : 1
    }

    @ParameterizedTest
    @ValueSource(doubles = {-1e4, -1000, -800, -1, 0, 1, 800, 1e4})
    void equalValuesShareEqually(double value) {
        for (int experts = 1; experts < 8; experts++) {
            double[] z = new double[3 * experts];
            Arrays.fill(z, value);
            assertThat(SharedScore.SOFTMAX.coefficients(z, experts)).containsOnly(1.0 / experts);
            assertThat(SharedScore.NORMALIZED_SIGMOID.coefficients(z, experts)).containsOnly(1.0 / experts);
        }
    }

    @Test
    void theSoftmaxOfTwoIsTheSigmoidOfTheirDifference() {
        double[] z = random(200, 30, 1);
        double[] c = SharedScore.SOFTMAX.coefficients(z, 2);
        for (int t = 0; t < 100; t++) {
            double sigma = of(SharedScore.SIGMOID, z[2 * t] - z[2 * t + 1])[0];
            assertThat(c[2 * t]).isCloseTo(sigma, within(1e-14 * sigma));
            assertThat(c[2 * t] + c[2 * t + 1]).isCloseTo(1, within(1e-15));
        }
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void gradientsAreNumbersWhereverTheGateIs(SharedScore score) {
        double[] z = {1e4, -1e4, 800, -800, -1000, 0};
        for (double dz : score.backward(z, score.coefficients(z, 3), random(6, 1, 3), 3)) {
            assertThat(dz).isFinite();
        }
    }

    @Test
    void theGradientLivesWhereTheSigmoidsHaveUnderflowed() {
        double[] z = {-1000, -1000};
        double[] c = SharedScore.NORMALIZED_SIGMOID.coefficients(z, 2);
        assertThat(SharedScore.NORMALIZED_SIGMOID.backward(z, c, new double[] {1, 0}, 2))
                .containsExactly(.25, -.25); // that of a softmax: ½·(1 − ½), ½·(0 − ½)
    }
}
