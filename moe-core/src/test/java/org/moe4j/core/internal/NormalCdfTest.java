package org.moe4j.core.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.definition.DoubleDouble;
import org.moe4j.core.testing.definition.ExactActivations;

class NormalCdfTest {
    private static final double U = 0x1p-53;

    /** Φ by its series {@code ½ + (1/√(2π)) · Σ (−1)^k · x^(2k+1) / (2^k · k! · (2k+1))} with digits enough for the tail. */
    private static BigDecimal exact(double value) {
        int digits = 40 + (int) (value * value); // terms as large as e^(x²/2), a result as small as e^(−x²/2)
        MathContext context = new MathContext(digits, RoundingMode.HALF_EVEN);
        BigDecimal x = new BigDecimal(value);
        BigDecimal step = x.multiply(x, context).divide(BigDecimal.valueOf(-2), context);
        BigDecimal power = x;
        BigDecimal sum = BigDecimal.ZERO;
        BigDecimal smallest = BigDecimal.ONE.movePointLeft(digits + 5);
        for (int k = 0; power.abs().compareTo(smallest) > 0; k++) {
            sum = sum.add(power.divide(BigDecimal.valueOf(2L * k + 1), context), context);
            power = power.multiply(step, context).divide(BigDecimal.valueOf(k + 1L), context);
        }
        BigDecimal root = pi(context).multiply(BigDecimal.valueOf(2)).sqrt(context);
        return sum.divide(root, context).add(new BigDecimal("0.5"), context);
    }

    /** Machin: {@code π = 16·arctan(1/5) − 4·arctan(1/239)}. */
    private static BigDecimal pi(MathContext context) {
        return arctanOfInverse(5, context)
                .multiply(BigDecimal.valueOf(16))
                .subtract(arctanOfInverse(239, context).multiply(BigDecimal.valueOf(4)), context);
    }

    private static BigDecimal arctanOfInverse(long n, MathContext context) {
        BigDecimal power = BigDecimal.ONE.divide(BigDecimal.valueOf(n), context);
        BigDecimal square = BigDecimal.valueOf(-n * n);
        BigDecimal sum = power;
        BigDecimal smallest = BigDecimal.ONE.movePointLeft(context.getPrecision() + 5);
        for (int k = 3; power.abs().compareTo(smallest) > 0; k += 2) {
            power = power.divide(square, context);
            sum = sum.add(power.divide(BigDecimal.valueOf(k), context), context);
        }
        return sum;
    }

    /** Relative error in units of u. */
    private static double error(double actual, BigDecimal expected) {
        return new BigDecimal(actual)
                        .subtract(expected)
                        .divide(expected, MathContext.DECIMAL64)
                        .abs()
                        .doubleValue()
                / U;
    }

    /** The definition in twice the digits, which the next test uses, and Φ of the library beside one that has as many as it wants. */
    @Test
    void cdfIsKnownToItsRoundings() {
        for (double x = -33.3; x < 8.5; x += 0.7971) { // below, the low part of a double-double is subnormal
            BigDecimal exact = exact(x);
            DoubleDouble defined = ExactActivations.cdf(DoubleDouble.of(x));
            BigDecimal both = new BigDecimal(defined.high()).add(new BigDecimal(defined.low()));
            assertThat(both.subtract(exact).divide(exact, MathContext.DECIMAL64).abs())
                    .isLessThan(new BigDecimal("1e-20"));
            assertThat(error(NormalCdf.cdf(x), exact)).as("Φ(%s)", x).isLessThanOrEqualTo(ExactActivations.CDF);
        }
    }

    @Test
    void cdfIsKnownToItsRoundingsAtManyNumbers() {
        double worst = 0;
        for (double x = -33.3; x < 8.5; x += 0.00097) {
            DoubleDouble defined = ExactActivations.cdf(DoubleDouble.of(x));
            double distance = Math.abs((NormalCdf.cdf(x) - defined.high()) - defined.low());
            worst = Math.max(worst, distance / defined.high() / U);
        }
        assertThat(worst).isGreaterThan(1).isLessThanOrEqualTo(ExactActivations.CDF);
    }

    /** Abramowitz and Stegun, Handbook of Mathematical Functions (1964), Table 26.1. */
    @ParameterizedTest
    @CsvSource({"0, 0.5", "1, 0.841344746068543", "2, 0.977249868051821", "-1, 0.158655253931457"})
    void cdfAgreesWithPublishedValues(double x, double expected) {
        assertThat(NormalCdf.cdf(x)).isCloseTo(expected, within(5e-16));
    }

    @Test
    void densityIsTheDerivative() {
        for (double x = -8; x < 8; x += 0.37) {
            double difference = exact(x + 1e-4).subtract(exact(x - 1e-4)).doubleValue() / 2e-4;
            assertThat(NormalCdf.density(x)).isCloseTo(difference, within(1e-8));
        }
        assertThat(NormalCdf.density(0)).isEqualTo(1 / Math.sqrt(2 * Math.PI));
        assertThat(NormalCdf.density(3)).isCloseTo(0.004431848411938008, within(1e-17));
    }

    @Test
    void limitsAreExact() {
        double inf = Double.POSITIVE_INFINITY;
        assertThat(NormalCdf.cdf(-inf)).isZero();
        assertThat(NormalCdf.cdf(inf)).isOne();
        assertThat(NormalCdf.cdf(-1e200)).isZero();
        assertThat(NormalCdf.cdf(1e200)).isOne();
        assertThat(NormalCdf.cdf(Double.NaN)).isNaN();
        assertThat(NormalCdf.density(inf)).isZero();
        assertThat(NormalCdf.density(Double.NaN)).isNaN();
        assertThat(NormalCdf.cdf(-0.0)).isEqualTo(0.5);
    }
}
