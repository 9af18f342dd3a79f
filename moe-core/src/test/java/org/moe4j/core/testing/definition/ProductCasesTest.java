package org.moe4j.core.testing.definition;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class ProductCasesTest {
    @Test
    void anErrorIsMeasuredByWhatIsAllowed() {
        double[] expected = {1, 2, 3};
        double[] allowed = {0.5, 0, 0.25};
        assertThat(ProductCases.worst(new double[] {1, 2, 3}, expected, allowed))
                .isZero();
        assertThat(ProductCases.worst(new double[] {1.25, 2, 3.25}, expected, allowed))
                .isEqualTo(1);
        assertThat(ProductCases.worst(new double[] {1, 2, 3.25 + 0x1p-50}, expected, allowed))
                .isGreaterThan(1);
        assertThat(ProductCases.worst(new double[] {1, Math.nextUp(2.0), 3}, expected, allowed))
                .isInfinite();
        assertThat(ProductCases.worst(new double[] {Double.NaN, 2, 3}, expected, allowed))
                .isNaN();
    }
}
