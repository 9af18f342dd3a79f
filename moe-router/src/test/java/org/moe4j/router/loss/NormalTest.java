package org.moe4j.router.loss;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.internal.NormalQuantile;

class NormalTest {
    /** Abramowitz and Stegun, Handbook of Mathematical Functions, Tables 26.1 and 26.2. */
    @ParameterizedTest
    @CsvSource({
        "0, 0.5",
        "1, 0.841344746068543",
        "2, 0.977249868051821",
        "3, 0.998650101968370",
        "-1, 0.158655253931457",
        "-5, 2.866515719e-7",
        "-10, 7.61985302e-24"
    })
    void distributionIsTheTables(double x, double expected) {
        assertThat(Normal.distribution(x)).isCloseTo(expected, within(Math.abs(expected) * 1e-9 + 5e-34));
    }

    @Test
    void distributionIsTheIntegralOfTheDensity() {
        for (double x = -7.9; x <= 0; x += 0.05) {
            assertThat(Normal.distribution(x)).isCloseTo(NormalQuantile.distribution(x), within(1e-14));
            assertThat(Normal.distribution(x) + Normal.distribution(-x)).isCloseTo(1, within(3e-16));
        }
    }

    /** Series and fraction meet: on both sides of the change the quotient of tail and density goes on smoothly. */
    @Test
    void theTailGoesOnWhereTheSeriesEnds() {
        double inside = Normal.distribution(-3.5 + 1e-9) / Normal.density(-3.5 + 1e-9);
        double outside = Normal.distribution(-3.5 - 1e-9) / Normal.density(-3.5 - 1e-9);
        assertThat(inside).isCloseTo(outside, within(1e-9));
        assertThat(Normal.distribution(-40)).isZero();
        assertThat(Normal.distribution(40)).isEqualTo(1);
    }
}
