package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.testing.FiniteDifferences;

class RenormalizationTest {
    private static final Renormalization NONE = new Renormalization.None();
    private static final Renormalization SUM = new Renormalization.Sum();

    static Stream<Renormalization> all() {
        return Stream.of(
                NONE,
                SUM,
                new Renormalization.SoftmaxOfSelected(),
                new Renormalization.Sum(.3, Renormalization.EpsilonPlace.IN_SUM),
                new Renormalization.Sum(.3, Renormalization.EpsilonPlace.PER_SCORE),
                new Renormalization.Sum(.3, Renormalization.EpsilonPlace.FLOOR),
                new Renormalization.Sum(30, Renormalization.EpsilonPlace.FLOOR),
                new Renormalization.Norm(.5),
                new Renormalization.Norm(1),
                new Renormalization.Norm(2),
                new Renormalization.Norm(3.7));
    }

    @Test
    void noneKeepsTheScores() {
        assertThat(NONE.weights(new double[] {.5, .25})).containsExactly(.5, .25);
        assertThat(NONE.weights(new double[] {0, 0})).containsExactly(0, 0);
        assertThat(NONE.unitSum()).isFalse();
    }

    @Test
    void sumDividesByTheSumOfTheSelected() {
        assertThat(SUM.weights(new double[] {.5, .25, .25})).containsExactly(.5, .25, .25);
        assertThat(SUM.weights(new double[] {3})).containsExactly(1);
        assertThat(SUM.weights(new double[] {1e-290, 1e-290})).containsExactly(.5, .5);
        double[] weights =
                SUM.weights(new SplittableRandom(1).doubles(22, 0, 1e-3).toArray());
        assertThat(Arrays.stream(weights).sum()).isCloseTo(1, within(1e-15));
        assertThat(SUM.unitSum()).isTrue();
    }

    @Test
    void aTokenAmongManyWritesItsOwnSlots() {
        double[] into = {9, 9, 9, 9};
        SUM.weights(new double[] {1, 3}, 1, into, 2);
        assertThat(into).containsExactly(9, 9, .25, .75);
        NONE.weights(new double[] {1, 3}, 0, into, 0);
        assertThat(into).containsExactly(1, 3, .25, .75);
    }

    @Test
    void aZeroSumIsAnArithmeticExceptionThatNamesTheToken() {
        assertThatThrownBy(() -> SUM.weights(new double[2], 17, new double[36], 34))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage(
                        "router weights: expected selected scores with a sum of at least 1.0E-290 but token 17 has 0.0");
    }

    /** Scores near the smallest double have lost digits, and 1/sum overflows: an error, and no wrong weight or infinite gradient. */
    @Test
    void aSumThatIsTooSmallToDivideByIsAnArithmeticException() {
        for (Renormalization small : new Renormalization[] {
            SUM,
            new Renormalization.Norm(2),
            new Renormalization.Norm(.5),
            sum(1e-310, Renormalization.EpsilonPlace.FLOOR)
        }) {
            assertThatThrownBy(() -> small.weights(new double[] {3e-310, 1e-310}))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessageContaining("of at least 1.0E-290 but token 0 has ");
        }
        double[] least = {1e-289, 1e-290};
        assertThat(SUM.weights(least)).containsExactly(new double[] {10.0 / 11, 1.0 / 11}, within(1e-15));
        double mean = 10.0 / 11 - 2.0 / 11; // of gradients 1 and −2
        assertThat(SUM.scoreGradients(least, new double[] {1, -2}))
                .containsExactly(
                        new double[] {(1 - mean) / 1.1e-289, (-2 - mean) / 1.1e-289}, within(1e-15 * 3 / 1.1e-289));
    }

    @ParameterizedTest
    @MethodSource("all")
    void gradientsAgreeWithDifferences(Renormalization renormalization) {
        SplittableRandom random = new SplittableRandom(5);
        double[] selected = random.doubles(6, .1, 1).toArray();
        double[] dWeights = random.doubles(6, -1, 1).toArray();
        double[] analytic = renormalization.scoreGradients(selected, dWeights);
        double[] numeric = FiniteDifferences.gradient(
                s -> {
                    double[] weights = renormalization.weights(s);
                    double sum = 0;
                    for (int j = 0; j < weights.length; j++) {
                        sum += weights[j] * dWeights[j];
                    }
                    return sum;
                },
                selected);
        assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(analytic)))
                .isLessThanOrEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("all")
    void weightsEqualTheirDefinition(Renormalization renormalization) {
        double[] selected = new SplittableRandom(6).doubles(5, .1, 1).toArray();
        double[] expected = TokenwiseRouting.weights(renormalization, selected, selected, new int[] {0, 1, 2, 3, 4});
        assertThat(renormalization.weights(selected)).containsExactly(expected, within(1e-15));
        double sum = Arrays.stream(renormalization.weights(selected)).sum();
        if (renormalization.unitSum()) {
            assertThat(sum).isCloseTo(1, within(1e-15));
        }
    }

    @Test
    void onlyExactUnitSumsAreCalledSo() {
        assertThat(all().map(Renormalization::unitSum))
                .containsExactly(false, true, true, false, true, false, false, false, true, false, false);
        assertThat(all().filter(Renormalization::ofLogits)).containsExactly(new Renormalization.SoftmaxOfSelected());
    }

    @Test
    void epsilonsEnterWhereTheySay() {
        double[] scores = {3, 1};
        assertThat(sum(4, Renormalization.EpsilonPlace.IN_SUM).weights(scores)).containsExactly(.375, .125);
        assertThat(sum(2, Renormalization.EpsilonPlace.PER_SCORE).weights(scores))
                .containsExactly(.625, .375);
        assertThat(sum(8, Renormalization.EpsilonPlace.FLOOR).weights(scores)).containsExactly(.375, .125);
        assertThat(sum(2, Renormalization.EpsilonPlace.FLOOR).weights(scores)).containsExactly(.75, .25);
    }

    @Test
    void epsilonsDecideWhatScoresOfZeroBecome() {
        double[] zeros = {0, 0};
        assertThat(sum(1e-20, Renormalization.EpsilonPlace.IN_SUM).weights(zeros))
                .containsExactly(0, 0);
        assertThat(sum(1e-20, Renormalization.EpsilonPlace.FLOOR).weights(zeros))
                .containsExactly(0, 0);
        assertThat(sum(1e-7, Renormalization.EpsilonPlace.PER_SCORE).weights(zeros))
                .containsExactly(.5, .5);
        assertThatThrownBy(() -> new Renormalization.Norm(2).weights(zeros))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage(
                        "router weights: expected selected scores with a sum of at least 1.0E-290 but token 0 has 0.0");
        assertThatThrownBy(() -> new Renormalization.Norm(1e-3).weights(new double[] {1, 1, 1}))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("router weights: expected selected scores with a finite norm but token 0 has Infinity");
    }

    @Test
    void withoutAnEpsilonThePlaceHasNoMeaning() {
        assertThat(sum(0, Renormalization.EpsilonPlace.FLOOR)).isEqualTo(SUM);
        for (double bad : new double[] {-1e-9, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> sum(bad, Renormalization.EpsilonPlace.IN_SUM))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("epsilon: expected a finite number of at least 0 but was " + bad);
        }
    }

    private static Renormalization sum(double epsilon, Renormalization.EpsilonPlace place) {
        return new Renormalization.Sum(epsilon, place);
    }

    @Test
    void normsAreRelativeToTheLargestSoThatNothingOverflows() {
        assertThat(new Renormalization.Norm(2).weights(new double[] {3, 4})).containsExactly(.6, .8);
        assertThat(new Renormalization.Norm(2).weights(new double[] {3e-200, 4e-200}))
                .containsExactly(new double[] {.6, .8}, within(1e-15));
        assertThat(new Renormalization.Norm(3).weights(new double[] {1e150, 0})).containsExactly(1, 0);
        assertThat(new Renormalization.Norm(.5).scoreGradients(new double[] {1, 0}, new double[] {1, 1}))
                .containsExactly(0, 1);
        for (double bad : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> new Renormalization.Norm(bad))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("p: expected a finite number above 0 but was " + bad);
        }
    }

    @Test
    void softmaxOfSelectedNeedsNoSumOfAll() {
        Renormalization softmax = new Renormalization.SoftmaxOfSelected();
        assertThat(softmax.weights(new double[] {-1e4, -1e4})).containsExactly(.5, .5);
        assertThat(softmax.weights(new double[] {1e4, -1e4})).containsExactly(1, 0);
        assertThat(softmax.weights(new double[] {-5})).containsExactly(1);
        assertThat(softmax.scoreGradients(new double[] {-5}, new double[] {3})).containsExactly(0);
    }

    @Test
    void aSingleRenormalisedWeightHasNoGradient() {
        assertThat(SUM.scoreGradients(new double[] {.3}, new double[] {2})).containsExactly(0);
    }

    @Test
    void wrongLengthsAreRefused() {
        assertThatThrownBy(() -> SUM.scoreGradients(new double[2], new double[3]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("dWeights: expected 2 numbers (one per selected score) but was 3");
    }
}
