package org.moe4j.bench.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.rewrite.Rescaling;

/**
 * Muon with all settings mapped, {@code W' = c·W}: the same steps, but for rounding, of which it makes steps when it comes to a
 * minimum. Here ½‖W − A‖² of a 2×2 matrix.
 */
class MuonRoundingTest {
    private static final double[] MINIMUM = {0.3, -0.2, 0.1, 0.4};
    private static final double RATE = 0.01;

    private static double[] times(double[] values, double factor) {
        double[] product = values.clone();
        for (int i = 0; i < product.length; i++) {
            product[i] *= factor;
        }
        return product;
    }

    /** Of W' at c = {@code factor}. */
    private static double[] gradient(double[] values, double factor) {
        double[] gradient = values.clone();
        for (int i = 0; i < gradient.length; i++) {
            gradient[i] = (values[i] / factor - MINIMUM[i]) / factor;
        }
        return gradient;
    }

    /** The largest distance of W'/c from W in the first steps. */
    private static double parted(double c, int steps) {
        Rescaling rescaling = new Rescaling(c);
        double[] start = {1, 0.5, -0.7, 0.9};
        Muon muon = new Muon(start, 2, new Muon.Settings(0.95, 1e-7, 0, Muon.Scale.ORIGINAL));
        Muon mapped = new Muon(
                times(start, c), 2, new Muon.Settings(0.95, 1e-7 * rescaling.adamEpsilon(), 0, Muon.Scale.ORIGINAL));
        double parted = 0;
        for (int step = 0; step < steps; step++) {
            muon.step(gradient(muon.values(), 1), RATE);
            mapped.step(gradient(mapped.values(), c), RATE * rescaling.adamRate());
            parted = Math.max(parted, Tolerance.distance(muon.values(), times(mapped.values(), 1 / c)));
        }
        return parted;
    }

    @Test
    void theStepsAreTheSameOnTheWayToAMinimum() {
        for (double c : new double[] {3, -3, 1e-4}) {
            assertThat(parted(c, 50)).as("%s", c).isLessThan(1e-12);
        }
    }

    @Test
    void roundingBecomesAStepAboutTheMinimum() {
        for (double c : new double[] {3, -3, 1e-4}) {
            assertThat(parted(c, 1000)).as("%s", c).isBetween(RATE / 10, 10 * RATE);
        }
    }

    @Test
    void powersOfTwoRoundNothing() {
        for (double c : new double[] {4, -4, 0x1p-13}) {
            assertThat(parted(c, 1000)).as("%s", c).isZero();
        }
    }
}
