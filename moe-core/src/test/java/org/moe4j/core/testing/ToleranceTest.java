package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.function.DoubleConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The checkers are checked, our own and those of AssertJ: an error just below the limit passes, one just above and a NaN fail. */
class ToleranceTest {
    private static final double LIMIT = 1e-3;

    /** Every form in which tests compare two numbers; each is given a number that should be 2, to within the limit. */
    static Stream<Arguments> checkers() {
        return Stream.of(
                checker("assertWithin of one", x -> Tolerance.assertWithin("x", x, 2, LIMIT)),
                checker(
                        "assertWithin",
                        x -> Tolerance.assertWithin(
                                "x", new double[] {7, x}, new double[] {7, 2}, new double[] {0, LIMIT})),
                checker(
                        "assertWithinMaxNorm",
                        x -> Tolerance.assertWithinMaxNorm("x", new double[] {x, -4}, new double[] {2, -4}, LIMIT / 4)),
                checker(
                        "distance",
                        x -> assertThat(Tolerance.distance(new double[] {1, x}, new double[] {1, 2}))
                                .isLessThanOrEqualTo(LIMIT)),
                checker(
                        "distance, in the middle",
                        x -> assertThat(Tolerance.distance(new double[] {1, x, 1}, new double[] {1, 2, 1}))
                                .isLessThan(LIMIT)),
                checker("isCloseTo", x -> assertThat(x).isCloseTo(2, within(LIMIT))),
                checker("isCloseTo of a percentage", x -> assertThat(x).isCloseTo(2, withinPercentage(LIMIT * 50))),
                checker("isEqualTo with a tolerance", x -> assertThat(x).isEqualTo(2, within(LIMIT))),
                checker(
                        "containsExactly",
                        x -> assertThat(new double[] {1, x}).containsExactly(new double[] {1, 2}, within(LIMIT))),
                checker("isBetween", x -> assertThat(x).isBetween(2 - LIMIT, 2 + LIMIT)),
                checker(
                        "differences",
                        x -> assertThat(FiniteDifferences.worst(
                                        new double[] {x}, new double[] {2}, LIMIT / FiniteDifferences.TOLERANCE))
                                .isLessThanOrEqualTo(1)));
    }

    private static Arguments checker(String name, DoubleConsumer checker) {
        return Arguments.of(name, checker);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("checkers")
    void justBelowTheLimitPassesAndJustAboveFails(String name, DoubleConsumer checker) {
        for (double sign : new double[] {1, -1}) {
            checker.accept(2 + sign * 0.999 * LIMIT);
            assertThatThrownBy(() -> checker.accept(2 + sign * 1.001 * LIMIT))
                    .as(name)
                    .isInstanceOf(AssertionError.class);
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("checkers")
    void whatIsNotFiniteFails(String name, DoubleConsumer checker) {
        for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            assertThatThrownBy(() -> checker.accept(bad)).as(name).isInstanceOf(AssertionError.class);
        }
    }

    @Test
    void anExpectedValueThatIsNotFiniteAllowsNothing() {
        for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY}) {
            double[] expected = {1, bad};
            assertThatThrownBy(() -> Tolerance.assertWithinMaxNorm("x", new double[] {5, bad}, expected, LIMIT))
                    .hasMessageContaining("expected finite numbers");
            assertThatThrownBy(() -> Tolerance.maxNorm(expected)).hasMessageContaining("expected finite numbers");
            assertThatThrownBy(() -> FiniteDifferences.norm(new double[1], expected))
                    .hasMessageContaining("expected finite numbers");
            assertThat(FiniteDifferences.worst(new double[] {5}, new double[] {bad}, 1))
                    .isInfinite();
            assertThat(FiniteDifferences.worst(new double[] {5}, new double[] {1}, bad))
                    .isInfinite();
        }
    }

    @Test
    void anotherLengthFails() {
        assertThatThrownBy(() -> Tolerance.assertWithin("x", new double[1], new double[2], new double[2]))
                .isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> Tolerance.assertWithinMaxNorm("x", new double[2], new double[1], 1))
                .isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> Tolerance.distance(new double[2], new double[1]))
                .isInstanceOf(AssertionError.class);
    }

    @Test
    void theFirstElementThatIsOffIsNamed() {
        double[] tolerance = {1, 1, 1};
        assertThatThrownBy(() -> Tolerance.assertWithin("y", new double[] {0, 5, 9}, new double[] {0, 2, 0}, tolerance))
                .hasMessage("y: element 1 expected 2.0 within 1.0 but was 5.0");
    }

    @Test
    void limitsAreWhatTheirNamesSay() {
        assertThat(Tolerance.gemm(16, 0.5, 3)).isEqualTo(2 * 4 * 0.5 * 3);
        assertThat(Tolerance.layer(9, 16, 0.5)).isEqualTo(4 * 4 * 0.5);
        assertThat(Tolerance.layer(16, 9, 0.5)).isEqualTo(4 * 4 * 0.5);
        assertThat(Tolerance.roundings(3, 0.5, -2)).isEqualTo(3);
        assertThat(Tolerance.maxNorm(new double[] {1, -3, 2})).isEqualTo(3);
        assertThat(Tolerance.maxNorm(new double[0])).isZero();
    }
}
