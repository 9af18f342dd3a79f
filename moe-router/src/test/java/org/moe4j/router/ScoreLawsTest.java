package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.testing.definition.DoubleDouble;
import org.moe4j.router.Renormalization.EpsilonPlace;

/** What scores and weights obey, and how far scores are from their definition with twice the digits. */
final class ScoreLawsTest {
    private static final ScoreFunction SOFTMAX = new ScoreFunction.Softmax();
    private static final ScoreFunction SIGMOID = new ScoreFunction.Sigmoid();
    private static final double U = 0x1p-53;
    private static final int SHORT = 64;
    private static final int LONG_ONE_IN = 20;

    /** 1 … 4,096, small ones as often as large ones. */
    private static int length(SplittableRandom random) {
        return Math.max(1, (int) StrictMath.pow(2, 12 * random.nextDouble()));
    }

    /** Logits of any spread; every tenth row has them beyond ±10⁴. */
    private static double[] logits(SplittableRandom random, int length) {
        double spread = random.nextInt(10) == 0 ? 3e4 : StrictMath.pow(10, 3 * random.nextDouble() - 1);
        return IntStream.range(0, length)
                .mapToDouble(e -> spread * random.nextGaussian())
                .toArray();
    }

    private static double largest(double[] values) {
        return Arrays.stream(values).max().orElseThrow();
    }

    /** Errors in units in the last place of the exact score, where that is a normal number; one row in 20 may be a long one. */
    private static void scores(int rows) {
        double worstSoftmax = 0;
        double worstSigmoid = 0;
        for (long seed = 0; seed < rows; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int length = length(random);
            double[] logits = logits(random, seed % LONG_ONE_IN == 0 ? length : Math.min(SHORT, length));
            double[] scores = SOFTMAX.scores(logits);
            double[] sigmoids = SIGMOID.scores(logits);
            double max = largest(logits);
            DoubleDouble[] powers = Arrays.stream(logits)
                    .mapToObj(l -> l - max < -690
                            ? DoubleDouble.of(0)
                            : DoubleDouble.of(l).minus(DoubleDouble.of(max)).exp())
                    .toArray(DoubleDouble[]::new);
            DoubleDouble sum = Arrays.stream(powers).reduce(DoubleDouble.of(0), DoubleDouble::plus);
            for (int e = 0; e < logits.length; e++) {
                DoubleDouble exact = powers[e].dividedBy(sum);
                // the sum of n powers is rounded n times; a difference of logits once, which is a relative error of the
                // score
                double allowed = (4 + Math.sqrt(logits.length)) * Math.ulp(exact.high())
                        + Math.abs(logits[e] - max) * U * exact.high();
                double error = Math.abs((scores[e] - exact.high()) - exact.low());
                if (powers[e].high() > 0) {
                    worstSoftmax = Math.max(worstSoftmax, error / allowed);
                } else {
                    assertThat(scores[e]).as("softmax of %s", logits[e] - max).isBetween(0.0, 1e-299);
                }
                if (Math.abs(logits[e]) < 690) {
                    DoubleDouble sigmoid = DoubleDouble.of(logits[e]).sigmoid();
                    double off = Math.abs((sigmoids[e] - sigmoid.high()) - sigmoid.low());
                    worstSigmoid = Math.max(worstSigmoid, off / Math.ulp(sigmoid.high()));
                } else if (logits[e] > 0) {
                    assertThat(sigmoids[e]).isEqualTo(1);
                } else {
                    assertThat(sigmoids[e]).as("sigmoid of %s", logits[e]).isBetween(0.0, 1e-299);
                }
            }
        }
        assertThat(worstSoftmax).isLessThanOrEqualTo(1);
        assertThat(worstSigmoid).isLessThanOrEqualTo(4);
        Promise.measured(
                4,
                "scores in double precision",
                String.format(
                        Locale.ROOT,
                        "softmax %.2f of (4 + sqrt(n)) ulp and the rounded difference, sigmoid %.2f ulp; %,d rows of 1 to 64, one in 20 of up to 4,096",
                        worstSoftmax,
                        worstSigmoid,
                        rows));
    }

    private static void laws(int rows) {
        double worstSum = 0;
        double worstShift = 0;
        double worstUnit = 0;
        Renormalization unit = new Renormalization.Sum(0, EpsilonPlace.IN_SUM);
        for (long seed = 0; seed < rows; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double[] logits = logits(random, length(random));
            int length = logits.length;
            double[] scores = SOFTMAX.scores(logits);
            double sum = exactSum(scores);
            assertThat(Math.abs(sum - 1)).as("sum of row %d", seed).isLessThanOrEqualTo(length * U);
            worstSum = Math.max(worstSum, Math.abs(sum - 1) / (length * U));
            // whole numbers of 2^-20 and a shift of them: every difference is exact
            double[] whole = Arrays.stream(logits)
                    .map(l -> Math.rint(l * 0x1p20) * 0x1p-20)
                    .toArray();
            double shift = random.nextInt(-5000, 5000) * 0x1p-7;
            double[] before = SOFTMAX.scores(whole);
            double[] after =
                    SOFTMAX.scores(Arrays.stream(whole).map(l -> l + shift).toArray());
            for (int e = 0; e < length; e++) {
                worstShift = Math.max(worstShift, Math.abs(before[e] - after[e]) / Math.ulp(before[e]));
            }
            int topK = 1 + random.nextInt(Math.min(16, length));
            double[] best = IntStream.range(0, length)
                    .mapToDouble(e -> scores[e])
                    .sorted()
                    .skip(length - topK)
                    .toArray();
            double[] weights = unit.weights(best);
            worstUnit = Math.max(worstUnit, Math.abs(exactSum(weights) - 1) / U);
            assertThat(Math.abs(exactSum(weights) - 1))
                    .as("weights of row %d", seed)
                    .isLessThanOrEqualTo(2 * topK * U);
        }
        assertThat(worstShift).isZero();
        Promise.measured(
                5,
                "laws of scores and weights",
                String.format(
                        Locale.ROOT,
                        "softmax sums within %.2f n u of 1, shifts change %.0f ulp, weights sum within %.1f u of 1; %,d rows of 1 to 4096",
                        worstSum,
                        worstShift,
                        worstUnit,
                        rows));
    }

    private static double exactSum(double[] values) {
        return Arrays.stream(values)
                .mapToObj(DoubleDouble::of)
                .reduce(DoubleDouble.of(0), DoubleDouble::plus)
                .high();
    }

    @Test
    void scoresAreWithinAFewUnitsInTheLastPlace() {
        scores(3_000);
    }

    /** A sum in turn, which begins with the 1, would lose all the others: 0.8 u of it each. */
    @Test
    void smallPowersBesideALargeOneAreNotLost() {
        for (int n : new int[] {64, 512, 4096}) {
            double[] logits = new double[n];
            Arrays.fill(logits, 1, n, -37);
            DoubleDouble power = DoubleDouble.of(-37).exp();
            DoubleDouble exact = DoubleDouble.ONE.dividedBy(DoubleDouble.ONE.plus(power.times(DoubleDouble.of(n - 1))));
            double error = Math.abs((SOFTMAX.scores(logits)[0] - exact.high()) - exact.low());
            assertThat(error / Math.ulp(exact.high())).as("%d logits", n).isLessThanOrEqualTo(1);
        }
    }

    @Test
    void scoresAndWeightsObeyTheirLaws() {
        laws(3_000);
    }

    @Test
    @Tag("soak")
    void scoresOfManyRows() {
        scores(200_000);
    }

    @Test
    @Tag("soak")
    void lawsOfManyRows() {
        laws(100_000);
    }
}
