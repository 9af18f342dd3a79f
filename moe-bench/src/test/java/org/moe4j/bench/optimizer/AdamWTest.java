package org.moe4j.bench.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class AdamWTest {
    private static final AdamW.Settings ADAM = new AdamW.Settings(0.9, 0.999, 1e-8, 0);

    /**
     * The averages of Algorithm 1 written out as sums over all gradients so far: {@code m̂_t = Σ_i (1−β₁) β₁^(t−i) g_i / (1−β₁ᵗ)},
     * and the same with β₂ and squares; the decay beside it. Without decay it is Adam.
     */
    @ParameterizedTest
    @CsvSource({"0.9, 0.999, 1e-8, 0", "0.5, 0.9, 1e-3, 0.1", "0, 0, 0.1, 0", "0.9, 0.99, 1e-8, 2"})
    void stepsAreThoseOfTheWrittenOutAverages(double first, double second, double epsilon, double decay) {
        int steps = 40;
        SplittableRandom random = new SplittableRandom(7);
        double[][] gradients = new double[steps][];
        Arrays.setAll(gradients, t -> random.doubles(3, -2, 2).toArray());
        double[] expected = {0.3, -1, 20};
        AdamW adam = new AdamW(expected, new AdamW.Settings(first, second, epsilon, decay));
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
                expected[k] += -rate * (mean / (Math.sqrt(square) + epsilon) + decay * expected[k]);
            }
            adam.step(gradients[t - 1], rate);
            // sums in another order: a few roundings per step, of numbers of at most 20
            assertThat(adam.values()).as("step %d", t).containsExactly(expected, within(1e-12));
        }
    }

    /** Whatever the gradient's size: both averages are unbiased, so that m̂/√v̂ is its sign. */
    @Test
    void theFirstStepIsAsLongAsTheRate() {
        AdamW adam = new AdamW(new double[] {1, 1, 1}, ADAM);
        adam.step(new double[] {1e-3, -5, 0}, 0.25);
        assertThat(adam.values()).containsExactly(new double[] {0.75, 1.25, 1}, within(1e-5));
    }

    @Test
    void aParabolaIsDescended() {
        AdamW adam = new AdamW(new double[] {5}, ADAM);
        for (int step = 0; step < 500; step++) {
            adam.step(new double[] {2 * (adam.values()[0] - 2)}, step < 400 ? 0.1 : 0.01);
        }
        assertThat(adam.values()[0]).isCloseTo(2, within(1e-2));
    }

    @Test
    void startAndValuesAreCopies() {
        double[] start = {1};
        AdamW adam = new AdamW(start, ADAM);
        start[0] = 2;
        adam.values()[0] = 3;
        assertThat(adam.values()).containsExactly(1);
    }

    /** {@code θ_t = (1 − rate·decay)ᵗ·θ_0} where there is nothing to learn. */
    @Test
    void withoutGradientTheParameterDecaysAlone() {
        AdamW adam = new AdamW(new double[] {8, -3}, new AdamW.Settings(0.9, 0.999, 1e-8, 2.5));
        for (int step = 0; step < 5; step++) {
            adam.step(new double[2], 0.1);
        }
        assertThat(adam.values())
                .containsExactly(new double[] {8 * Math.pow(0.75, 5), -3 * Math.pow(0.75, 5)}, within(1e-14));
    }

    @Test
    void aResumedRunHasTheBitsOfTheWholeOne() {
        AdamW.Settings settings = new AdamW.Settings(0.9, 0.99, 1e-8, 0.1);
        SplittableRandom random = new SplittableRandom(8);
        AdamW whole = new AdamW(new double[] {1, 2}, settings);
        for (int step = 0; step < 30; step++) {
            whole.step(random.doubles(2, -1, 1).toArray(), 0.1);
        }
        AdamW resumed = new AdamW(whole.values(), settings, whole.state());
        assertThat(resumed.state().steps()).isEqualTo(30);
        for (int step = 0; step < 30; step++) {
            double[] gradient = random.doubles(2, -1, 1).toArray();
            whole.step(gradient, 0.1);
            resumed.step(gradient, 0.1);
            assertThat(resumed.values()).containsExactly(whole.values());
        }
    }

    @Test
    void aStateIsACopy() {
        AdamW adam = new AdamW(new double[] {1}, ADAM);
        adam.step(new double[] {2}, 0.1);
        AdamW.State state = adam.state();
        adam.step(new double[] {5}, 0.1);
        state.means()[0] = 9;
        state.squares()[0] = 9;
        assertThat(state.means()).containsExactly(new double[] {0.2}, within(1e-15));
        assertThat(state.squares()).containsExactly(new double[] {0.004}, within(1e-15));
    }

    @Test
    void wrongNumbersAreRefused() {
        AdamW adam = new AdamW(new double[2], ADAM);
        assertThatThrownBy(() -> adam.step(new double[3], 0.1))
                .hasMessage("gradient: expected 2 numbers (parameters) but was 3");
        AdamW.State tooShort = new AdamW.State(new double[1], new double[1], 4);
        assertThatThrownBy(() -> new AdamW(new double[2], ADAM, tooShort))
                .hasMessage("means: expected 2 numbers (parameters) but was 1");
        assertThatThrownBy(() -> new AdamW.State(new double[1], new double[2], 4))
                .hasMessage("squares: expected 1 numbers (parameters) but was 2");
        assertThatThrownBy(() -> new AdamW.State(new double[1], new double[1], -1))
                .hasMessage("steps: expected at least 0 but was -1");
        assertThatThrownBy(() -> new AdamW.Settings(1, 0.9, 1e-8, 0))
                .hasMessage("mean: expected a number in [0, 1) but was 1.0");
        assertThatThrownBy(() -> new AdamW.Settings(0.9, -0.1, 1e-8, 0))
                .hasMessage("square: expected a number in [0, 1) but was -0.1");
        assertThatThrownBy(() -> new AdamW.Settings(0.9, 0.9, 0, 0))
                .hasMessage("epsilon: expected a number above 0 but was 0.0");
        assertThatThrownBy(() -> new AdamW.Settings(0.9, 0.9, 1e-8, -1))
                .hasMessage("decay: expected a number of at least 0 but was -1.0");
    }
}
