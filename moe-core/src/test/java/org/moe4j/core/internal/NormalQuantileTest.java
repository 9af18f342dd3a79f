package org.moe4j.core.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NormalQuantileTest {
    /** The usual z tables; the last three by bisection of the complementary error function. */
    @ParameterizedTest
    @CsvSource({
        "0.5, 0",
        "0.75, 0.6744897501960817",
        "0.9, 1.2815515655446004",
        "0.95, 1.6448536269514722",
        "0.975, 1.959963984540054",
        "0.99, 2.3263478740408408",
        "0.999, 3.090232306167813",
        "0.000001, -4.7534243088229",
        "0.000000001, -5.997807015007687",
        "0.000000000001, -7.034483825301133"
    })
    void quantilesAreThePublishedOnes(double p, double x) {
        assertThat(NormalQuantile.of(p)).isCloseTo(x, within(1e-12));
    }

    /** The distribution function here is an integral, the quantile a rational function: they know nothing of each other. */
    @ParameterizedTest
    @CsvSource({"-0.1", "-0.5", "-1", "-2", "-3", "-4", "-5", "-6"})
    void distributionIsTheInverseOfTheQuantile(double x) {
        assertThat(NormalQuantile.of(NormalQuantile.distribution(x))).isCloseTo(x, within(1e-6));
        assertThat(NormalQuantile.of(1 - NormalQuantile.distribution(x))).isCloseTo(-x, within(1e-6));
    }

    @ParameterizedTest
    @CsvSource({"0, 0.5", "-1, 0.15865525393145707", "-2, 0.022750131948179195", "-3, 0.0013498980316300933"})
    void distributionTakesItsPublishedValues(double x, double p) {
        assertThat(NormalQuantile.distribution(x)).isCloseTo(p, within(1e-13));
    }

    @ParameterizedTest
    @CsvSource({"-8.1", "-100", "-Infinity"})
    void farOutIsZero(double x) {
        assertThat(NormalQuantile.distribution(x)).isZero();
    }
}
