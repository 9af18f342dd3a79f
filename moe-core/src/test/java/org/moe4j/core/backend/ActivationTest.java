package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Activation.ClampedSwiGlu;
import org.moe4j.core.backend.Activation.GeluExact;
import org.moe4j.core.backend.Activation.GeluTanh;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.ReluSquared;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.reference.ReferenceBackend;

/** What is commonly confused, as numbers that were computed apart with 30 digits. */
class ActivationTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final ClampedSwiGlu GPT_OSS = new ClampedSwiGlu(1.702, 7, 1);

    private static Matrix of(double value) {
        return BACKEND.matrix(1, 1, new double[] {value});
    }

    private static double value(Activation activation, double gate, double up) {
        return BACKEND.activate(activation, Projections.of(of(gate), of(up))).get(0, 0);
    }

    private static double value(Activation activation, double up) {
        return BACKEND.activate(activation, Projections.of(of(up))).get(0, 0);
    }

    private static double slope(Activation activation, double up) {
        return BACKEND.activateBackward(activation, Projections.of(of(up)), of(1))
                .up()
                .get(0, 0);
    }

    @ParameterizedTest
    @CsvSource({
        "-10, 0.5, -6.086941942282965e-7", // no cut below: at -7 it would be -7.03e-5
        "8, 1, 13.999906256606634",
        "1, 1, 1.6915915318656426", // with plain SwiGLU 0.731
        "1, 9, 6.7663661274625704",
        "1, -9, -5.0747745955969278", // û + 1 = −6
        "7, 7, 55.999625026426538",
    })
    void theGateIsCutFromAboveAndUpOnBothSides(double gate, double up, double expected) {
        assertThat(value(GPT_OSS, gate, up)).isCloseTo(expected, within(1e-15 * Math.abs(expected) * 20));
    }

    @Test
    void atTheLimitTheGradientPassesAndBeyondItDoesNot() {
        double beyond = Math.nextUp(7.0);
        for (double[] at : new double[][] {{7, 1}, {beyond, 1}, {1, 7}, {1, beyond}, {1, -7}, {1, -beyond}}) {
            Projections d = BACKEND.activateBackward(GPT_OSS, Projections.of(of(at[0]), of(at[1])), of(1));
            assertThat(d.gateOrThrow().get(0, 0) != 0).as("gate %s", at[0]).isEqualTo(at[0] <= 7);
            assertThat(d.up().get(0, 0) != 0).as("up %s", at[1]).isEqualTo(Math.abs(at[1]) <= 7);
        }
    }

    @Test
    void gateAndUpAreNotTheSame() {
        assertThat(value(new SwiGlu(), 2, 3)).isCloseTo(5.284782467867295, within(1e-14));
        assertThat(value(new SwiGlu(), 3, 2)).isCloseTo(5.715444760934599, within(1e-14));
    }

    @ParameterizedTest
    @CsvSource({
        "-3, -0.0040496940948902836, -0.0036373920817730188",
        "-1, -0.15865525393145705, -0.1588080093917233",
        "1, 0.84134474606854295, 0.8411919906082767",
        "2, 1.9544997361036416, 1.954597694087775",
    })
    void exactAndTanhDiffer(double up, double exact, double tanh) {
        assertThat(value(new GeluExact(), up)).isCloseTo(exact, within(4 * Math.ulp(exact)));
        assertThat(value(new GeluTanh(), up)).isCloseTo(tanh, within(16 * Math.ulp(tanh)));
    }

    @Test
    void reluSquaredHasNoGradientAtZeroAndBelow() {
        assertThat(value(new ReluSquared(), 3)).isEqualTo(9);
        assertThat(slope(new ReluSquared(), 3)).isEqualTo(6);
        assertThat(slope(new ReluSquared(), 0)).isZero();
        assertThat(slope(new ReluSquared(), -3)).isZero();
        assertThat(slope(new Relu(), 0)).isZero();
        assertThat(slope(new Relu(), Double.MIN_VALUE)).isOne();
    }

    @Test
    void clampedWithoutALimitAlphaOneAndNoOffsetIsSwiGlu() {
        ClampedSwiGlu open = new ClampedSwiGlu(1, Double.POSITIVE_INFINITY, 0);
        assertThat(value(open, 9, -30)).isEqualTo(value(new SwiGlu(), 9, -30));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 7 | 1 | alpha: expected a positive finite number but was 0.0",
                "Infinity | 7 | 1 | alpha: expected a positive finite number but was Infinity",
                "1 | 0 | 1 | limit: expected a positive number but was 0.0",
                "1 | NaN | 1 | limit: expected a positive number but was NaN",
                "1 | 7 | NaN | offset: expected a finite number but was NaN",
            })
    void badNumbersAreRefused(double alpha, double limit, double offset, String message) {
        assertThatThrownBy(() -> new ClampedSwiGlu(alpha, limit, offset))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void banksHaveThePartsOfTheirActivation() {
        List<Matrix> wide = List.of(BACKEND.buffer(3, 2));
        List<Matrix> tall = List.of(BACKEND.buffer(2, 3));
        assertThatThrownBy(() -> new BankWeights(new Relu(), Map.of(BankPart.GATE, wide, BankPart.UP, wide)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("parts: expected [UP, DOWN] (Relu[]) but was ");
        assertThatThrownBy(() -> new BankWeights(new Relu(), Map.of(BankPart.UP, List.of(), BankPart.DOWN, List.of())))
                .hasMessage("up: expected at least 1 expert but was an empty list");
        assertThatThrownBy(() -> BankWeights.swiGlu(wide, wide, wide))
                .hasMessage("down[0]: expected 2 x 3 (sizes of up[0]) but was 3 x 2");
        assertThatThrownBy(() -> BankWeights.swiGlu(List.of(), wide, tall))
                .hasMessage("gate: expected 1 matrices (one per expert) but was 0");
        BankWeights weights = new BankWeights(new Relu(), Map.of(BankPart.UP, wide, BankPart.DOWN, tall));
        assertThat(weights.biases()).isFalse();
        assertThatThrownBy(() -> weights.get(BankPart.GATE))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage("part: expected one of [UP, DOWN] but was GATE");
    }
}
