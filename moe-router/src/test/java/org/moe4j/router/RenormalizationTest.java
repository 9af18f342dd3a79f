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
        return Stream.of(NONE, SUM);
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
        assertThat(SUM.weights(new double[] {Double.MIN_VALUE, Double.MIN_VALUE}))
                .containsExactly(.5, .5);
        double[] weights =
                SUM.weights(new SplittableRandom(1).doubles(22, 0, 1e-3).toArray());
        assertThat(Arrays.stream(weights).sum()).isCloseTo(1, within(1e-15));
        assertThat(SUM.unitSum()).isTrue();
    }

    @Test
    void aTokenAmongManyWritesItsOwnSlots() {
        double[] into = {9, 9, 9, 9};
        SUM.weights(new double[] {1, 3}, 1, into);
        assertThat(into).containsExactly(9, 9, .25, .75);
        NONE.weights(new double[] {1, 3}, 0, into);
        assertThat(into).containsExactly(1, 3, .25, .75);
    }

    @Test
    void aZeroSumIsAnArithmeticExceptionThatNamesTheToken() {
        assertThatThrownBy(() -> SUM.weights(new double[2], 17, new double[36]))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("router weights: expected selected scores with a sum other than 0 but token 17 has 0.0");
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
