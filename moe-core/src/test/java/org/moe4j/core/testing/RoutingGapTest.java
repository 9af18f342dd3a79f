package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What refuses draws near a tie is checked: a gap just below what is enough is seen, in any token. */
class RoutingGapTest {
    private static double gap(double... scores) {
        return RoutingGap.of(scores, 3, 1);
    }

    @Test
    void theSmallestGapOfAnyTokenCounts() {
        assertThat(gap(1, 3, 2.5, 9, 0, 7)).isEqualTo(0.5);
        assertThat(gap(9, 0, 7, 3, 1, 2.5)).isEqualTo(0.5);
        assertThat(gap(2, 2, 1)).isZero();
        assertThat(RoutingGap.of(new double[] {1, 3, 2.5}, 3, 2)).isEqualTo(1.5);
    }

    @Test
    void aGapJustBelowWhatIsEnoughIsRefusedAndOneJustAboveIsNot() {
        assertThat(gap(2, 2 + 0.999 * RoutingGap.ENOUGH, 0) < RoutingGap.ENOUGH).isTrue();
        assertThat(gap(2, 2 + 1.001 * RoutingGap.ENOUGH, 0) < RoutingGap.ENOUGH).isFalse();
    }

    @Test
    void whereNothingIsLeftOutThereIsNoGap() {
        assertThat(RoutingGap.of(new double[] {1, 1}, 2, 2)).isInfinite();
        assertThat(RoutingGap.of(new double[0], 2, 1)).isInfinite();
    }
}
