package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Optimizers written out on the loss {@code Σ (a_i·w − b_i)²/2} of one weight, and on the same loss of {@code w' = c·w}: after every step
 * w' is c·w.
 */
class RescalingTest {
    private static final double[] A = {1.5, -0.5, 2, 0.25};
    private static final double[] B = {1, 2, -0.5, 0.125};

    /** The derivative at w of the loss whose model is {@code (a/c)·w'}. */
    private static double gradient(double w, double c, int step) {
        int i = step % A.length;
        double a = A[i] / c;
        return a * (a * w - B[i]);
    }

    private interface Step {
        /** The weight after a step. */
        double next(double w, double gradient, int step);
    }

    private static void sameSteps(double c, Step given, Step rewritten) {
        double w = 0.75;
        double scaled = c * w;
        for (int step = 0; step < 40; step++) {
            w = given.next(w, gradient(w, 1, step), step);
            scaled = rewritten.next(scaled, gradient(scaled, c, step), step);
            assertThat(scaled).isCloseTo(c * w, within(1e-12 * Math.abs(c)));
        }
    }

    private static Step sgd(double rate, double coupled, double decoupled) {
        double[] momentum = new double[1];
        return (w, gradient, step) -> {
            momentum[0] = 0.9 * momentum[0] + gradient + coupled * w;
            return w - rate * momentum[0] - rate * decoupled * w;
        };
    }

    private static Step adam(double rate, double epsilon, double coupled, double decoupled) {
        double[] m = new double[1];
        double[] v = new double[1];
        return (w, gradient, step) -> {
            double g = gradient + coupled * w;
            m[0] = 0.9 * m[0] + 0.1 * g;
            v[0] = 0.99 * v[0] + 0.01 * g * g;
            double mean = m[0] / (1 - Math.pow(0.9, step + 1));
            double square = v[0] / (1 - Math.pow(0.99, step + 1));
            return w - rate * (mean / (Math.sqrt(square) + epsilon) + decoupled * w);
        };
    }

    @ParameterizedTest
    @ValueSource(doubles = {4, 0.125, 1.0 / 3, -1.5, 1})
    void gradientDescentTakesTheSameSteps(double c) {
        Rescaling r = new Rescaling(c);
        sameSteps(c, sgd(0.02, 0, 0), sgd(0.02 * r.sgdRate(), 0, 0));
        sameSteps(c, sgd(0.02, 0.1, 0.2), sgd(0.02 * r.sgdRate(), 0.1 * r.sgdDecay(), 0.2 * r.sgdDecay()));
    }

    @ParameterizedTest
    @ValueSource(doubles = {4, 0.125, 1.0 / 3, -1.5, 1})
    void adamTakesTheSameSteps(double c) {
        Rescaling r = new Rescaling(c);
        sameSteps(c, adam(0.05, 0.3, 0, 0.2), adam(0.05 * r.adamRate(), 0.3 * r.adamEpsilon(), 0, 0.2 * r.adamDecay()));
        sameSteps(c, adam(0.05, 0.3, 0.1, 0), adam(0.05 * r.adamRate(), 0.3 * r.adamEpsilon(), 0.1 * r.sgdDecay(), 0));
    }

    @ParameterizedTest
    @ValueSource(doubles = {4, 0.125, -1.5})
    void signDescentTakesTheSameStepsAndClippingToo(double c) {
        Rescaling r = new Rescaling(c);
        // no step meets a minimum, whose sign is a matter of rounding
        sameSteps(
                c,
                (w, gradient, step) -> w - 0.053 * Math.signum(gradient),
                (w, gradient, step) -> w - 0.053 * r.adamRate() * Math.signum(gradient));
        double threshold = 0.4;
        double scaled = threshold * r.clipping();
        sameSteps(
                c,
                (w, gradient, step) -> w - 0.1 * Math.max(-threshold, Math.min(threshold, gradient)),
                (w, gradient, step) -> w - 0.1 * r.sgdRate() * Math.max(-scaled, Math.min(scaled, gradient)));
    }

    /** A state in the middle of a training goes over by the factors of the moments. */
    @Test
    void momentsGoOver() {
        Rescaling r = new Rescaling(-1.5);
        double g = 0.7;
        double mapped = g * r.gradient();
        assertThat(0.1 * mapped).isCloseTo(0.1 * g / -1.5, within(1e-16));
        assertThat(0.01 * mapped * mapped).isCloseTo(0.01 * g * g * r.secondMoment(), within(1e-16));
    }

    /** Two families, one of them rescaled by 4, clipped by their common norm: other steps, unless it is the norm of what is mapped back. */
    @Test
    void clippingByACommonNormIsNotKept() {
        Rescaling r = new Rescaling(4);
        double[] g = {3, 4};
        double[] mapped = {3, 4 * r.gradient()};
        double common = Math.hypot(mapped[0], mapped[1]);
        assertThat(common).isEqualTo(Math.sqrt(10)).isNotEqualTo(Math.hypot(g[0], g[1]));
        assertThat(Math.hypot(mapped[0], mapped[1] * r.factor())).isEqualTo(5);
    }

    @Test
    void factorsThatAreNoneAreRefused() {
        for (double factor : new double[] {0, Double.NaN, Double.POSITIVE_INFINITY, 1e-160, -1e160}) {
            assertThatThrownBy(() -> new Rescaling(factor))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("factor: expected a number whose square and its reciprocal are normal numbers but was "
                            + factor);
        }
        assertThat(Rescaling.none()).isEqualTo(new Rescaling(1));
    }
}
