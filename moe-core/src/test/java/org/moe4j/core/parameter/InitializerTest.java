package org.moe4j.core.parameter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.moe4j.core.reference.ReferenceBackend;

class InitializerTest {
    private static double[] draw(Initializer initializer, int rows, int columns, long seed) {
        return initializer
                .draw(ReferenceBackend.instance(), rows, columns, seed)
                .toArray();
    }

    private static double moment(double[] values, int power) {
        return Arrays.stream(values).map(x -> Math.pow(x, power)).average().orElseThrow();
    }

    @Test
    void normalHasTheMomentsOfANormal() {
        double[] x = draw(Initializer.normal(2), 1000, 1000, 7); // 10⁶ draws: four standard errors each
        assertThat(moment(x, 1)).isCloseTo(0, within(4 * 2e-3));
        assertThat(moment(x, 2)).isCloseTo(4, within(4 * 4 * Math.sqrt(2e-6)));
        assertThat(moment(x, 4)).isCloseTo(48, within(4 * 16 * Math.sqrt(96e-6)));
    }

    @Test
    void truncatedNormalStaysWithinItsCutAndLosesTheVarianceOfTheTails() {
        double[] x = draw(new Initializer(1, 3), 1000, 1000, 8);
        assertThat(Arrays.stream(x).map(Math::abs).max().orElseThrow()).isBetween(2.95, 3.0);
        // Var = 1 − 2·3·φ(3)/(2Φ(3) − 1) = 0.973337…, from the definition of the truncated normal
        double phi3 = Math.exp(-4.5) / Math.sqrt(2 * Math.PI);
        assertThat(moment(x, 2)).isCloseTo(1 - 6 * phi3 / 0.9973002039367398, within(4 * Math.sqrt(2e-6)));
    }

    @Test
    void valuesDependOnSeedAndPositionAlone() {
        assertThat(draw(Initializer.normal(1), 3, 5, 1)).isEqualTo(draw(Initializer.normal(1), 3, 5, 1));
        double[] more = draw(Initializer.normal(1), 4, 5, 1);
        assertThat(Arrays.copyOf(more, 15)).isEqualTo(draw(Initializer.normal(1), 3, 5, 1));
        assertThat(draw(Initializer.normal(1), 3, 5, 2)).isNotEqualTo(draw(Initializer.normal(1), 3, 5, 1));
        assertThat(Arrays.stream(more).distinct().count()).isEqualTo(20);
    }

    @Test
    void evenATinyCutIsNeverPassed() {
        for (double cut : new double[] {1e-3, 1e-9, 1e-12, 1e-16}) {
            double[] x = draw(new Initializer(1, cut), 10, 100, 9);
            assertThat(Arrays.stream(x).map(Math::abs).max().orElseThrow()).isLessThanOrEqualTo(cut);
        }
    }

    @Test
    void zeroDeviationGivesZeros() {
        assertThat(draw(Initializer.normal(0), 1, 3, 1)).containsOnly(0.0, -0.0);
    }

    @Test
    void refusesNumbersThatDescribeNoDistribution() {
        assertThatThrownBy(() -> Initializer.normal(-1))
                .hasMessage("standardDeviation: expected a finite number of at least 0 but was -1.0");
        assertThatThrownBy(() -> Initializer.normal(Double.NaN)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Initializer.normal(Double.POSITIVE_INFINITY))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Initializer(1, 0)).hasMessage("cut: expected a number above 0 but was 0.0");
    }
}
