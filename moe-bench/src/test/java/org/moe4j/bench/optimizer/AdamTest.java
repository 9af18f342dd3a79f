package org.moe4j.bench.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class AdamTest {
    private static final Adam.Decay USUAL = new Adam.Decay(0.9, 0.999, 1e-8);

    /**
     * The averages of Algorithm 1 written out as sums over all gradients so far: {@code m̂_t = Σ_i (1−β₁) β₁^(t−i) g_i / (1−β₁ᵗ)},
     * and the same with β₂ and squares.
     */
    @ParameterizedTest
    @CsvSource({"0.9, 0.999, 1e-8", "0.5, 0.9, 1e-3", "0, 0, 0.1", "0.9, 0.99, 1e-8"})
    void stepsAreThoseOfTheWrittenOutAverages(double first, double second, double epsilon) {
        int steps = 40;
        SplittableRandom random = new SplittableRandom(7);
        double[][] gradients = new double[steps][];
        Arrays.setAll(gradients, t -> random.doubles(3, -2, 2).toArray());
        double[] expected = {0.3, -1, 20};
        Adam adam = new Adam(expected, new Adam.Decay(first, second, epsilon));
        for (int t = 1; t <= steps; t++) {
            double rate = 0.1 / t;
            for (int k = 0; k < expected.length; k++) {
                double mean = 0;
                double square = 0;
                for (int i = 1; i <= t; i++) {
                    double g = gradients[i - 1][k];
                    mean += (1 - first) * Math.pow(first, t - i) * g;
                    square += (1 - second) * Math.pow(second, t - i) * g * g;
                }
                mean /= 1 - Math.pow(first, t);
                square /= 1 - Math.pow(second, t);
                expected[k] -= rate * mean / (Math.sqrt(square) + epsilon);
            }
            adam.step(gradients[t - 1], rate);
            // sums in another order: a few roundings per step, of numbers of at most 20
            assertThat(adam.values()).as("step %d", t).containsExactly(expected, within(1e-12));
        }
    }

    /** Whatever the gradient's size: both averages are unbiased, so that m̂/√v̂ is its sign. */
    @Test
    void theFirstStepIsAsLongAsTheRate() {
        Adam adam = new Adam(new double[] {1, 1, 1}, USUAL);
        adam.step(new double[] {1e-3, -5, 0}, 0.25);
        assertThat(adam.values()).containsExactly(new double[] {0.75, 1.25, 1}, within(1e-5));
    }

    @Test
    void aParabolaIsDescended() {
        Adam adam = new Adam(new double[] {5}, USUAL);
        for (int step = 0; step < 500; step++) {
            adam.step(new double[] {2 * (adam.values()[0] - 2)}, step < 400 ? 0.1 : 0.01);
        }
        assertThat(adam.values()[0]).isCloseTo(2, within(1e-2));
    }

    @Test
    void startAndValuesAreCopies() {
        double[] start = {1};
        Adam adam = new Adam(start, USUAL);
        start[0] = 2;
        adam.values()[0] = 3;
        assertThat(adam.values()).containsExactly(1);
    }

    @Test
    void wrongNumbersAreRefused() {
        Adam adam = new Adam(new double[2], USUAL);
        assertThatThrownBy(() -> adam.step(new double[3], 0.1))
                .hasMessage("gradient: expected 2 numbers (parameters) but was 3");
        assertThatThrownBy(() -> new Adam.Decay(1, 0.9, 1e-8))
                .hasMessage("mean: expected a number in [0, 1) but was 1.0");
        assertThatThrownBy(() -> new Adam.Decay(0.9, -0.1, 1e-8))
                .hasMessage("square: expected a number in [0, 1) but was -0.1");
        assertThatThrownBy(() -> new Adam.Decay(0.9, 0.9, 0))
                .hasMessage("epsilon: expected a number above 0 but was 0.0");
    }
}
