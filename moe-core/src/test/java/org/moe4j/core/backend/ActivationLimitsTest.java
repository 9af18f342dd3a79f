package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation.ClampedSwiGlu;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.ReluSquared;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.PlainActivations;
import org.moe4j.core.testing.definition.ExactActivations;
import org.moe4j.core.vector.VectorBackend;

/**
 * Activations and their slopes where {@link ActivationAccuracyTest} has no step: zeros, infinities, the smallest and the largest
 * numbers, of both signs, and kinds of NaN. Written by hand, and compared bit by bit; of a slope that vanishes either zero will do.
 */
final class ActivationLimitsTest {
    private static final double INFINITE = Double.POSITIVE_INFINITY;

    /** Quiet and signalling ones of both signs, with and without other bits. */
    private static final int[] NANS = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF};

    /** What is to be at one number. */
    private record Limit(double x, double value, double slope) {}

    static Stream<Arguments> backendsAndActivations() {
        List<Backend> backends = List.of(
                VectorBackend.float32(),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST),
                ReferenceBackend.instance(),
                VectorBackend.float64(),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST));
        return backends.stream()
                .flatMap(backend -> PlainActivations.ALL.stream().map(activation -> Arguments.of(backend, activation)));
    }

    static Stream<Arguments> backendsAndClamped() {
        return backendsAndActivations().filter(both -> both.get()[1] instanceof ClampedSwiGlu);
    }

    static Stream<Arguments> backendsAndDoubled() {
        return backendsAndClamped().filter(both -> ((ClampedSwiGlu) both.get()[1]).offset() == 1);
    }

    private static boolean single(Backend backend) {
        return backend.unitRoundoff() == 0x1p-24;
    }

    private static double smallest(Backend backend) {
        return single(backend) ? Float.MIN_VALUE : Double.MIN_VALUE;
    }

    private static double largest(Backend backend) {
        return single(backend) ? Float.MAX_VALUE : Double.MAX_VALUE;
    }

    /** Half of the smallest number is a tie, and rounded to the even 0. */
    private static List<Limit> limits(Activation activation, double smallest, double largest) {
        List<Limit> limits = new ArrayList<>();
        if (activation instanceof Relu || activation instanceof ReluSquared) {
            boolean squared = activation instanceof ReluSquared;
            for (double x : new double[] {0, -0.0, -smallest, -2 * smallest, -largest, -INFINITE}) {
                limits.add(new Limit(x, 0, 0));
            }
            for (double x : new double[] {smallest, 2 * smallest}) {
                limits.add(new Limit(x, squared ? 0 : x, squared ? 2 * x : 1));
            }
            for (double x : new double[] {largest, INFINITE}) {
                limits.add(new Limit(x, squared ? INFINITE : x, squared ? INFINITE : 1));
            }
            return limits;
        }
        double up = activation instanceof ClampedSwiGlu clamped ? 1 + clamped.offset() : 1;
        for (double x : new double[] {0, -0.0, 2 * smallest, -2 * smallest}) {
            limits.add(new Limit(x, x / 2 * up, up / 2));
        }
        if (up == 1) { // with two, it is the order of the products that tells
            limits.add(new Limit(smallest, 0, 0.5));
            limits.add(new Limit(-smallest, -0.0, 0.5));
        }
        for (double x : new double[] {-largest, -INFINITE}) {
            limits.add(new Limit(x, -0.0, 0));
        }
        if (!(activation instanceof ClampedSwiGlu)) {
            limits.add(new Limit(largest, largest, 1));
            limits.add(new Limit(INFINITE, INFINITE, 1));
        }
        return limits;
    }

    private static void assertSameBits(String what, double actual, double expected) {
        assertThat(Double.toHexString(actual)).as(what).isEqualTo(Double.toHexString(expected)); // tells −0 from 0
    }

    @ParameterizedTest
    @MethodSource("backendsAndActivations")
    void valuesAndSlopesAreTheLimits(Backend backend, Activation activation) {
        List<Limit> limits = limits(activation, smallest(backend), largest(backend));
        double[] x = limits.stream().mapToDouble(Limit::x).toArray();
        double[] values = ActivationAccuracyTest.values(backend, activation, x);
        double[] slopes = ActivationAccuracyTest.slopes(backend, activation, x);
        for (int i = 0; i < x.length; i++) {
            assertSameBits("value at " + x[i], values[i], limits.get(i).value());
            assertSameBits("slope at " + x[i], slopes[i] + 0.0, limits.get(i).slope());
        }
    }

    /** In double the half is rounded before it is doubled, so that one smallest number may be missing; its sign never is. */
    @ParameterizedTest
    @MethodSource("backendsAndDoubled")
    void theSmallestNumberKeepsItsSign(Backend backend, Activation activation) {
        double smallest = smallest(backend);
        double[] x = {smallest, -smallest};
        double[] values = ActivationAccuracyTest.values(backend, activation, x);
        for (int i = 0; i < x.length; i++) {
            assertThat(Math.copySign(1, values[i])).isEqualTo(Math.copySign(1, x[i]));
            assertThat(values[i]).isCloseTo(x[i], within(single(backend) ? 0 : smallest));
        }
        assertThat(ActivationAccuracyTest.slopes(backend, activation, x)).containsExactly(1, 1);
    }

    /** Beyond the limit a gate is the limit, and has no slope. */
    @ParameterizedTest
    @MethodSource("backendsAndClamped")
    void aClampedGateEndsAtItsLimit(Backend backend, ClampedSwiGlu activation) {
        double[] exact = ExactActivations.of(activation, activation.limit());
        double allowed = single(backend)
                ? ActivationAccuracyTest.VALUE * Math.ulp((float) exact[0])
                : ExactActivations.allowance(activation, activation.limit(), exact[0]);
        double[] x = {Math.nextUp((float) activation.limit()), largest(backend), INFINITE};
        for (double value : ActivationAccuracyTest.values(backend, activation, x)) {
            assertThat(ExactActivations.distance(value, exact, 0)).isLessThanOrEqualTo(allowed);
        }
        for (double slope : ActivationAccuracyTest.slopes(backend, activation, x)) {
            assertThat(slope).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("backendsAndActivations")
    void whatIsNotANumberStaysSo(Backend backend, Activation activation) {
        double[] x = new double[NANS.length];
        for (int i = 0; i < x.length; i++) {
            x[i] = Float.intBitsToFloat(NANS[i]);
        }
        assertThat(ActivationAccuracyTest.values(backend, activation, x)).containsOnly(Double.NaN);
        assertThat(ActivationAccuracyTest.slopes(backend, activation, x))
                .containsOnly(activation instanceof Relu ? 1 : Double.NaN); // lets the gradient through
    }
}
