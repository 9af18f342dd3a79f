package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.merge.rewrite.DrawnParts.BACKEND;
import static org.moe4j.merge.rewrite.DrawnParts.assertSameBits;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.Tolerance;

class DownScaleTest {
    static LongStream hundreds() {
        return DrawnParts.hundreds();
    }

    private static Parameters expert(double... down) {
        return Parameters.of("up", BACKEND.matrix(down.length, 1, new double[down.length]))
                .and(Parameters.of("down", BACKEND.matrix(1, down.length, down)));
    }

    private static Matrix times(double factor, Matrix matrix) {
        return BACKEND.linearCombination(factor, matrix, 0, matrix);
    }

    /** Coefficients of either sign, and in every third case a 0. */
    private static double[] coefficients(DrawnParts drawn, long seed) {
        double[] c = new Cases(~seed).doubles(drawn.experts().size());
        if (seed % 3 == 0) {
            c[0] = 0;
        }
        return c;
    }

    @ParameterizedTest
    @MethodSource("hundreds")
    void aSumWithFixedCoefficientsIsOneWideExpert(long hundred) {
        for (long seed : DrawnParts.seeds(hundred)) {
            DrawnParts drawn = DrawnParts.of(seed);
            double[] c = coefficients(drawn, seed);
            List<Parameters> absorbed = new ArrayList<>();
            for (int j = 0; j < c.length; j++) {
                absorbed.add(new DownScale(c[j]).absorb(drawn.experts().get(j)));
            }
            Tolerance.assertWithinMaxNorm(
                    "seed " + seed, drawn.output(drawn.partition().concatenate(absorbed)), drawn.defined(c), 1e-13);
        }
    }

    /** Both ways, from gradients with the coefficients outside to those of the wide expert, and back. */
    @ParameterizedTest
    @MethodSource("hundreds")
    void gradientsMapWithTheCoefficients(long hundred) {
        for (long seed : DrawnParts.seeds(hundred)) {
            DrawnParts drawn = DrawnParts.of(seed);
            double[] c = new Cases(~seed).doubles(drawn.experts().size());
            List<Parameters> absorbed = new ArrayList<>();
            List<Parameters> outside = new ArrayList<>();
            List<Parameters> inside = new ArrayList<>();
            for (int j = 0; j < c.length; j++) {
                DownScale scale = new DownScale(c[j]);
                Parameters expert = drawn.experts().get(j);
                absorbed.add(scale.absorb(expert));
                outside.add(
                        drawn.gradients(expert, times(c[j], drawn.dOutput())).parameters());
                inside.add(scale.absorbGradients(outside.get(j)));
            }
            Partition partition = drawn.partition();
            Parameters wide = drawn.gradients(partition.concatenate(absorbed)).parameters();
            assertClose("seed " + seed, partition.concatenateGradients(inside, 0), wide);
            List<Parameters> split = partition.splitGradients(wide);
            for (int j = 0; j < c.length; j++) {
                assertClose("seed " + seed, new DownScale(c[j]).takeOutGradients(split.get(j)), outside.get(j));
            }
        }
    }

    private static void assertClose(String what, Parameters actual, Parameters expected) {
        for (String name : expected.names()) {
            Tolerance.assertWithinMaxNorm(
                    what + " " + name,
                    actual.get(name).toArray(),
                    expected.get(name).toArray(),
                    1e-13);
        }
    }

    /**
     * Multiplying by a power of two changes an exponent only, so that every sum is the same but for that; by a negative one
     * also the sign, but for that of sums that are 0.
     */
    @ParameterizedTest
    @ValueSource(doubles = {0x1p-20, -.25, -1, 1, 2, 0x1p30})
    void powersOfTwoChangeNoBit(double c) {
        DownScale scale = new DownScale(c);
        for (long seed = 0; seed < 100; seed++) {
            DrawnParts drawn = DrawnParts.of(seed);
            String what = "seed " + seed;
            Parameters expert = drawn.experts().get(0);
            Parameters absorbed = scale.absorb(expert);
            assertThat(scale.reversible(expert)).as(what).isTrue();
            assertSameBits(what, scale.takeOut(absorbed), expert);
            double[] outside = drawn.output(expert);
            Arrays.setAll(outside, i -> c * outside[i]);
            assertThat(unsigned(drawn.output(absorbed))).as(what).isEqualTo(unsigned(outside));
            Gradients inside = drawn.gradients(absorbed);
            Gradients of = drawn.gradients(expert, times(c, drawn.dOutput()));
            assertThat(unsigned(inside.input().toArray()))
                    .as(what)
                    .isEqualTo(unsigned(of.input().toArray()));
            assertEqual(what, scale.absorbGradients(of.parameters()), inside.parameters());
            assertEqual(what, scale.takeOutGradients(inside.parameters()), of.parameters());
        }
    }

    private static void assertEqual(String what, Parameters actual, Parameters expected) {
        for (String name : expected.names()) {
            assertThat(unsigned(actual.get(name).toArray()))
                    .as(what + " " + name)
                    .isEqualTo(unsigned(expected.get(name).toArray()));
        }
    }

    /** The same bits, with 0 for −0. */
    private static double[] unsigned(double[] values) {
        return Arrays.stream(values).map(value -> value + 0.0).toArray();
    }

    private static double[] down(Parameters set) {
        return set.get("down").toArray();
    }

    @Test
    void eachKindOfNumberHasItsOwnPowerOfTheCoefficient() {
        DownScale scale = new DownScale(-4);
        Parameters set = expert(16, -.5);
        assertThat(down(scale.absorb(set))).containsExactly(-64, 2);
        assertThat(down(scale.takeOut(set))).containsExactly(-4, .125);
        assertThat(down(scale.absorbGradients(set))).containsExactly(-4, .125);
        assertThat(down(scale.takeOutGradients(set))).containsExactly(-64, 2);
        assertThat(down(scale.absorbSecondMoments(set))).containsExactly(1, -.03125);
        assertThat(down(scale.takeOutSecondMoments(set))).containsExactly(256, -8);
    }

    /** {@code 1/c} would overflow here, and {@code c²} vanish. */
    @Test
    void quotientsAreDividedAndNotMultipliedByAReciprocal() {
        DownScale tiny = new DownScale(0x1p-1074);
        assertThat(down(tiny.takeOut(expert(0x1p-1060)))).containsExactly(0x1p14);
        DownScale small = new DownScale(0x1p-540);
        assertThat(down(small.absorbSecondMoments(expert(0x1p-1074)))).containsExactly(0x1p6);
        assertThat(down(small.takeOutSecondMoments(expert(0x1p1000)))).containsExactly(0x1p-80);
    }

    @Test
    void onlyDownProjectionAndDownBiasChange() {
        DrawnParts drawn = DrawnParts.of(LongStream.range(0, 1000)
                .filter(seed -> DrawnParts.of(seed).biases())
                .findFirst()
                .orElseThrow());
        Parameters expert = drawn.experts().get(0);
        Parameters absorbed = new DownScale(3).absorb(expert);
        assertThat(absorbed.names()).containsExactlyElementsOf(expert.names());
        for (String name : expert.names()) {
            if (!name.startsWith("down")) {
                assertSameBits(name, absorbed.get(name), expert.get(name));
            }
        }
        expert.close();
        assertThat(absorbed.get("up").toArray()).isNotEmpty();
    }

    @Test
    void gradientsInBuffersAreCopied() {
        Matrix up = BACKEND.buffer(1, 1);
        Parameters mapped = new DownScale(2)
                .absorbGradients(Parameters.of("up", up).and(Parameters.of("down", BACKEND.buffer(1, 1))));
        BACKEND.accumulate(1, up, 0, BACKEND.matrix(1, 1, new double[] {1}));
        assertThat(mapped.get("up").toArray()).containsExactly(0);
    }

    @Test
    void whatDoesNotComeBackIsReported() {
        assertThat(new DownScale(.5).reversible(expert(1, Double.MIN_VALUE))).isFalse();
        assertThat(new DownScale(.5).reversible(expert(1, 2 * Double.MIN_VALUE)))
                .isTrue();
        assertThat(new DownScale(2).reversible(expert(1, Double.MAX_VALUE))).isFalse();
        assertThat(new DownScale(0).reversible(expert(1))).isFalse();
        assertThat(new DownScale(2).reversible(expert(-0.0, 0))).isTrue();
        for (double lost : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            assertThat(new DownScale(2).reversible(expert(1, lost)))
                    .as("%s", lost)
                    .isFalse(); // absorb refuses it
        }
        double lost = lostBy(.1);
        assertThat(lost * .1 / .1).isNotEqualTo(lost);
        assertThat(new DownScale(.1).reversible(expert(1, lost))).isFalse();
    }

    private static double lostBy(double c) {
        return Arrays.stream(new Cases(1).doubles(1000))
                .filter(value -> value * c / c != value)
                .findFirst()
                .orElseThrow();
    }

    private static void assertRefused(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
    }

    @Test
    void whatCannotBeScaledIsRefused() {
        assertRefused(() -> new DownScale(Double.NaN), "coefficient: expected a finite number but was NaN");
        DownScale zero = new DownScale(0);
        String divided = "coefficient: expected a number other than 0 (to divide by) but was 0.0";
        assertRefused(() -> zero.takeOut(expert(1)), divided);
        assertRefused(() -> zero.absorbGradients(expert(1)), divided);
        assertRefused(() -> zero.absorbSecondMoments(expert(1)), divided);
        assertRefused(
                () -> new DownScale(1e300).absorb(expert(1, 2, -1e10)),
                "expert.down: expected numbers that stay finite times 1.0E300 but was -1.0E10 in row 0, column 2");
        assertRefused(
                () -> new DownScale(1e-300).takeOut(expert(1e10)),
                "expert.down: expected numbers that stay finite divided by 1.0E-300 but was 1.0E10 in row 0, column 0");
        assertRefused(
                () -> new DownScale(1e-300).absorbGradients(expert(1e10)),
                "gradients.down: expected numbers that stay finite divided by 1.0E-300 but was 1.0E10 in row 0, column 0");
        assertRefused(
                () -> new DownScale(1e-160).absorbSecondMoments(expert(1)),
                "moments.down: expected numbers that stay finite divided by the square of 1.0E-160 but was 1.0 in row 0, column 0");
        assertRefused(
                () -> new DownScale(1e160).takeOutSecondMoments(expert(1)),
                "moments.down: expected numbers that stay finite times the square of 1.0E160 but was 1.0 in row 0, column 0");
        assertRefused(
                () -> zero.absorb(Parameters.none()), "expert: expected a matrix named down but was a set without it");
    }
}
