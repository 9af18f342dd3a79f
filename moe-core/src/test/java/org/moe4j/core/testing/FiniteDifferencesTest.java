package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The checker is checked: it passes a right gradient and finds a wrong one. */
class FiniteDifferencesTest {
    private static double cubic(double[] x) {
        return x[0] * x[0] * x[0] + 2 * x[0] * x[1];
    }

    @Test
    void passesTheRightGradientAndFindsAFaultJustAboveTheLimit() {
        double[] numeric = FiniteDifferences.gradient(FiniteDifferencesTest::cubic, new double[] {.7, -.3});
        double[] right = {3 * .49 - .6, 1.4};
        double norm = FiniteDifferences.norm(right);
        assertThat(norm).isEqualTo(1.4);
        assertThat(FiniteDifferences.worst(right, numeric, norm)).isLessThan(1e-2);
        double[] wrong = {right[0], right[1] * (1 + 1.1e-6)};
        assertThat(FiniteDifferences.worst(wrong, numeric, norm)).isGreaterThan(1);
        assertThat(FiniteDifferences.worst(new double[] {Double.NaN, 0}, numeric, norm))
                .isInfinite();
        assertThat(FiniteDifferences.worst(new double[1], numeric, norm)).isInfinite();
    }
}
