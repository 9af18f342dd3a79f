package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.testing.definition.DoubleDouble;

class ExponentialTest {
    private static double worst(DoubleStream points) {
        return points.map(x -> {
                    double expected = StrictMath.exp(x);
                    return Math.abs(Exponential.of(x) - expected) / Math.ulp(expected);
                })
                .max()
                .orElseThrow();
    }

    @Test
    void isWithinTwoUnitsOfStrictMathEverywhere() {
        SplittableRandom random = new SplittableRandom(1);
        assertThat(worst(random.doubles(1_000_000, -750, 709))).isLessThanOrEqualTo(2);
        assertThat(worst(random.doubles(1_000_000, -40, 0))).isLessThanOrEqualTo(2);
        assertThat(worst(random.doubles(1_000_000, -1e-3, 1e-3))).isLessThanOrEqualTo(2);
    }

    @Test
    void isRightAtAndBesideEveryStepOfTheTable() {
        assertThat(worst(DoubleStream.iterate(-20, step -> step < 20, step -> step + 1.0 / 4096)
                        .map(step -> step * 0.6931471805599453)
                        .flatMap(x -> DoubleStream.of(Math.nextDown(x), x, Math.nextUp(x)))))
                .isLessThanOrEqualTo(2);
    }

    @Test
    void endsAreThoseOfStrictMath() {
        assertThat(Exponential.of(0)).isEqualTo(1);
        assertThat(Exponential.of(-0.0)).isEqualTo(1);
        assertThat(Exponential.of(Double.MIN_VALUE)).isEqualTo(1);
        assertThat(Exponential.of(-745.2)).isZero();
        assertThat(Exponential.of(-745)).isEqualTo(Double.MIN_VALUE);
        assertThat(Exponential.of(710)).isInfinite();
        assertThat(Exponential.of(Double.NEGATIVE_INFINITY)).isZero();
        assertThat(Exponential.of(Double.POSITIVE_INFINITY)).isInfinite();
        assertThat(Exponential.of(Double.NaN)).isNaN();
    }

    @ParameterizedTest
    @ValueSource(doubles = {1, 20, 300, 360, 800, 1e9, 1e308})
    void manyAtOnceHaveTheBitsOfOneByOne(double range) {
        SplittableRandom random = new SplittableRandom(7);
        for (int size : new int[] {0, 1, 7, 64, 511, 512}) {
            double[] x = random.doubles(size + 3, -1, 1).map(y -> range * y).toArray();
            for (double factor : new double[] {1, -1}) {
                double shift = factor > 0 && range < 1e300 ? range : 0;
                double[] into = new double[size];
                double sum = Exponential.all(x, 3, factor, shift, into);
                for (int e = 0; e < size; e++) {
                    assertThat(into[e]).isEqualTo(Exponential.of(factor * x[3 + e] - shift));
                }
                assertThat(Double.doubleToLongBits(sum))
                        .isEqualTo(Double.doubleToLongBits(Exponential.sum(into, 0, size)));
            }
        }
    }

    /** Powers up to 1, of any spread, and small ones beside a 1 of which a sum in turn loses all. */
    @Test
    void aSumIsOffByOneRounding() {
        SplittableRandom random = new SplittableRandom(8);
        for (int size : new int[] {1, 2, 7, 64, 512, 4096}) {
            for (double spread : new double[] {0, 1, 10, 37, 100, 700}) {
                double[] powers = random.doubles(size, -1, 0)
                        .map(y -> StrictMath.exp(spread * y))
                        .toArray();
                powers[0] = 1;
                assertSum(powers);
                Arrays.fill(powers, 1, size, StrictMath.exp(-spread));
                assertSum(powers);
            }
        }
    }

    private static void assertSum(double[] powers) {
        DoubleDouble exact =
                Arrays.stream(powers).mapToObj(DoubleDouble::of).reduce(DoubleDouble.of(0), DoubleDouble::plus);
        double error = Math.abs((Exponential.sum(powers, 0, powers.length) - exact.high()) - exact.low());
        assertThat(error).isLessThanOrEqualTo(0.51 * Math.ulp(exact.high()));
    }

    @Test
    void aSumWithAnInfinitePowerIsNotBelowALimit() {
        double[] powers = {1, Double.POSITIVE_INFINITY, 2};
        assertThat(Exponential.sum(powers, 0, 3) <= 1e300).isFalse();
    }
}
