package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.LayerCase.Numbers;

/** The definition of an expert, against numbers that were worked out by hand or are in tables. */
class TokenwiseExpertTest {
    private static final double LN_3 = Math.log(3); // sigmoid 3/4
    private static final ExpertWords GPT_OSS = new ExpertWords("clamped-swiglu", 1.702, 7, 1, true);

    /** One unit: the token is what stands before the activation, and the output what stands behind it. */
    private static TokenwiseExpert unit(ExpertWords words, double gate) {
        Map<String, Numbers> parameters = new HashMap<>();
        parameters.put("e.gate", number(gate));
        parameters.put("e.up", number(1));
        parameters.put("e.down", number(1));
        parameters.put("e.gateBias", number(0));
        parameters.put("e.upBias", number(0.5));
        parameters.put("e.downBias", number(-10));
        return TokenwiseExpert.of(words, parameters, "e");
    }

    private static Numbers number(double value) {
        return new Numbers(1, 1, new double[] {value});
    }

    private static double activated(String activation, double x) {
        return unit(ExpertWords.of(activation, false), 1).output(new double[] {x})[0];
    }

    @Test
    void activationsOfOneNumber() {
        assertThat(activated("swiglu", LN_3)).isCloseTo(LN_3 * 0.75 * LN_3, within(1e-15));
        assertThat(activated("relu", -3)).isZero();
        assertThat(activated("relu", 3)).isEqualTo(3);
        assertThat(activated("relu-squared", -3)).isZero();
        assertThat(activated("relu-squared", 3)).isEqualTo(9);
        // x·Φ(x) with Φ(1) = 0.841344746068543 and Φ(−3) = 0.00134989803163009 of a table of the normal distribution
        assertThat(activated("gelu-exact", 1)).isCloseTo(0.841344746068543, within(1e-14));
        assertThat(activated("gelu-exact", -3)).isCloseTo(-0.00404969409489027, within(1e-14));
        // tanh(√(2/π)·(1 + 0.044715)) = 0.682383981216554
        assertThat(activated("gelu-tanh", 1)).isCloseTo(0.841191990608277, within(1e-14));
    }

    @Test
    void theErrorFunctionOfTables() {
        assertThat(Plain.erf(0.5)).isCloseTo(0.520499877813047, within(1e-15));
        assertThat(Plain.erf(-2)).isCloseTo(-0.995322265018953, within(1e-15));
        assertThat(Plain.erf(5.9)).isCloseTo(1, within(1e-15));
        assertThat(Plain.erf(-7)).isEqualTo(-1);
    }

    @Test
    void bothHalvesAreClampedAndOnlyTheGateIsFreeBelow() {
        // up is the token plus 1/2: 6.5 + 0.5 = 7, at the limit; 8 + 0.5 and −9 + 0.5 are clamped
        assertThat(clamped(6.5, 1)).isCloseTo(gptOss(6.5, 7), within(1e-13));
        assertThat(clamped(8, 2)).isCloseTo(gptOss(7, 7), within(1e-13));
        assertThat(clamped(-9, 1)).isCloseTo(gptOss(-9, -7), within(1e-13));
    }

    private static double clamped(double x, double gate) {
        return unit(GPT_OSS, gate).output(new double[] {x})[0];
    }

    /** As openai/gpt-oss, gpt_oss/torch/model.py, has it, and −10 of the bias. */
    private static double gptOss(double gate, double up) {
        return gate / (1 + Math.exp(-1.702 * gate)) * (up + 1) - 10;
    }

    @Test
    void theGapIsThatOfTheNearestKink() {
        TokenwiseExpert relu = unit(ExpertWords.of("relu", true), 1);
        assertThat(relu.gap(new double[] {-0.625})).isEqualTo(0.125);
        assertThat(relu.beyondKink(new double[] {-0.625})).isTrue();
        assertThat(relu.beyondKink(new double[] {-0.375})).isFalse();
        assertThat(unit(ExpertWords.of("gelu-exact", true), 1).gap(new double[] {-0.5}))
                .isInfinite();
        TokenwiseExpert clamped = unit(GPT_OSS, 2);
        assertThat(clamped.gap(new double[] {3.25})).isEqualTo(0.5); // gate 6.5, up 3.75
        assertThat(clamped.gap(new double[] {-7.75})).isEqualTo(0.25); // gate −15.5, up −7.25
        assertThat(clamped.beyondKink(new double[] {-7.75})).isTrue();
        assertThat(clamped.beyondKink(new double[] {3.25})).isFalse();
    }
}
