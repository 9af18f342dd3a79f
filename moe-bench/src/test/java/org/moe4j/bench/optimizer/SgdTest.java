package org.moe4j.bench.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SgdTest {
    /** The momentum written out as a sum over all steps so far: {@code b_t = Σ_i momentum^(t−i)·(g_i + penalty·θ_(i−1))}. */
    @ParameterizedTest
    @CsvSource({"0, 0, 0", "0.9, 0, 0", "0, 0.5, 0", "0, 0, 0.5", "0.8, 0.1, 0.2"})
    void stepsAreThoseOfTheWrittenOutSum(double momentum, double penalty, double decay) {
        int steps = 20;
        SplittableRandom random = new SplittableRandom(4);
        double[][] terms = new double[steps][2];
        double[] expected = {1, -2};
        Sgd sgd = new Sgd(expected, new Sgd.Settings(momentum, penalty, decay));
        for (int t = 0; t < steps; t++) {
            double rate = 0.2 / (t + 1);
            double[] gradient = random.doubles(2, -1, 1).toArray();
            for (int k = 0; k < 2; k++) {
                terms[t][k] = gradient[k] + penalty * expected[k];
                double sum = 0;
                for (int i = 0; i <= t; i++) {
                    sum += Math.pow(momentum, t - i) * terms[i][k];
                }
                expected[k] = expected[k] - rate * decay * expected[k] - rate * sum;
            }
            sgd.step(gradient, rate);
            // a few roundings per step, of numbers of at most 5
            assertThat(sgd.values()).as("step %d", t).containsExactly(expected, within(1e-13));
        }
    }

    /** On {@code ½·a·θ²} every step multiplies by {@code 1 − rate·a}. */
    @Test
    void aParabolaIsDescendedGeometrically() {
        Sgd sgd = new Sgd(new double[] {3}, new Sgd.Settings(0, 0, 0));
        for (int step = 0; step < 10; step++) {
            sgd.step(new double[] {2 * sgd.values()[0]}, 0.1);
        }
        assertThat(sgd.values()[0]).isCloseTo(3 * Math.pow(0.8, 10), within(1e-14));
    }

    /** A penalty of plain descent is a decay, and with momentum it is not. */
    @Test
    void penaltyAndDecayPartWithMomentum() {
        for (double momentum : new double[] {0, 0.9}) {
            Sgd penalised = new Sgd(new double[] {3}, new Sgd.Settings(momentum, 0.5, 0));
            Sgd decaying = new Sgd(new double[] {3}, new Sgd.Settings(momentum, 0, 0.5));
            for (int step = 0; step < 2; step++) {
                penalised.step(new double[1], 0.1);
                decaying.step(new double[1], 0.1);
            }
            // the second step: 0.95·θ for both, and 0.1 of what the momentum kept of the first penalty, 0.9·0.5·3
            double apart = momentum == 0 ? 0 : 0.1 * 0.9 * 1.5;
            assertThat(decaying.values()[0] - penalised.values()[0]).isCloseTo(apart, within(1e-15));
        }
    }

    @Test
    void aResumedRunHasTheBitsOfTheWholeOne() {
        Sgd.Settings settings = new Sgd.Settings(0.9, 0.01, 0.02);
        Sgd whole = new Sgd(new double[] {1, 2}, settings);
        whole.step(new double[] {0.3, -0.7}, 0.1);
        double[] momentum = whole.momentum();
        Sgd resumed = new Sgd(whole.values(), settings, momentum);
        Arrays.fill(momentum, 7); // a copy
        for (double g : new double[] {0.1, -2, 5}) {
            whole.step(new double[] {g, 1}, 0.1);
            resumed.step(new double[] {g, 1}, 0.1);
            assertThat(resumed.values()).containsExactly(whole.values());
        }
    }

    @Test
    void wrongNumbersAreRefused() {
        Sgd.Settings settings = new Sgd.Settings(0.9, 0, 0);
        assertThatThrownBy(() -> new Sgd(new double[2], settings).step(new double[1], 0.1))
                .hasMessage("gradient: expected 2 numbers (parameters) but was 1");
        assertThatThrownBy(() -> new Sgd(new double[2], settings, new double[3]))
                .hasMessage("momentum: expected 2 numbers (parameters) but was 3");
        assertThatThrownBy(() -> new Sgd.Settings(1, 0, 0))
                .hasMessage("momentum: expected a number in [0, 1) but was 1.0");
        assertThatThrownBy(() -> new Sgd.Settings(0, -1, 0))
                .hasMessage("penalty: expected a number of at least 0 but was -1.0");
        assertThatThrownBy(() -> new Sgd.Settings(0, 0, Double.NaN))
                .hasMessage("decay: expected a number of at least 0 but was NaN");
        assertThatThrownBy(() -> new Sgd.Settings(0, Double.POSITIVE_INFINITY, 0))
                .hasMessage("penalty: expected a finite number but was Infinity");
        for (Optimizer one : new Optimizer[] {
            new Sgd(new double[1], new Sgd.Settings(0, 0, 0)),
            new AdamW(new double[1], new AdamW.Settings(0, 0, 1, 0)),
            new Muon(new double[1], 1, new Muon.Settings(0, 0, 0, Muon.Scale.ORIGINAL))
        }) {
            assertThatThrownBy(() -> one.step(new double[1], Double.NaN))
                    .hasMessage("rate: expected a number of at least 0 but was NaN");
        }
    }
}
