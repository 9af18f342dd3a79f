package org.moe4j.checkpoint.census;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.core.preset.Preset;

class InitialMergeTest {
    private static final double ROUNDING = 1e-12;

    private static Preset preset(String... keysAndValues) {
        Map<String, String> values = new TreeMap<>(Map.of(
                "name", "a",
                "source", "b",
                "experts.count", "2",
                "experts.hiddenSize", "4",
                "experts.intermediateSize", "4",
                "router.topK", "1"));
        for (int i = 0; i < keysAndValues.length; i += 2) {
            values.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        return Preset.of("p", values);
    }

    /** r = K·p with p = 1/K is 1 for every expert, as in a dense block cut into pieces (Equation 83 of the report). */
    @Test
    void olmoAtEqualLogitsIsTheDenseBlock() {
        InitialMerge merge = InitialMerge.of(Preset.named("olmo-study"), 0);
        assertThat(merge.routedScale()).isEqualTo(4);
        assertThat(merge.sharedScale()).isEqualTo(1);
        assertThat(merge.uniform().scale().weightedMean()).isCloseTo(1, within(ROUNDING));
        assertThat(merge.uniform().scale().rmsRatio()).isCloseTo(1, within(ROUNDING));
        assertThat(merge.uniform().scale().cosine()).isCloseTo(1, within(ROUNDING));
    }

    /** Σp = 1 and Σp² = 1/2 over K = 2: ā = Σp/K, R_var = Σp²/K. */
    @Test
    void mixtralAtEqualLogitsHasHalfTheScale() {
        InitialMerge.Prediction uniform =
                InitialMerge.of(Preset.named("mixtral-8x7b"), 0).uniform();
        assertThat(uniform.sumOfWeights()).isCloseTo(1, within(ROUNDING));
        assertThat(uniform.sumOfSquares()).isCloseTo(0.5, within(ROUNDING));
        assertThat(uniform.scale().weightedMean()).isCloseTo(0.5, within(ROUNDING));
        assertThat(uniform.scale().varianceRatio()).isCloseTo(0.25, within(ROUNDING));
    }

    /** No renormalisation: eight weights of 1/64. */
    @Test
    void olmoeAtEqualLogitsKeepsAnEighthOfTheMass() {
        InitialMerge merge = InitialMerge.of(Preset.named("olmoe-1b-7b"), 0);
        assertThat(merge.sharedScale()).isZero();
        assertThat(merge.uniform().sumOfWeights()).isCloseTo(8 / 64.0, within(ROUNDING));
        assertThat(merge.uniform().sumOfSquares()).isCloseTo(8 / 4096.0, within(ROUNDING));
        assertThat(merge.uniform().scale().rmsRatio()).isCloseTo(Math.sqrt(8 / 4096.0 / 8), within(ROUNDING));
    }

    /** The router's scale of 2.5 is in the weights: Σr = 2.5, Σr² = 2.5²/8, the shared expert as wide as a routed one at 1. */
    @Test
    void deepSeekV3AtEqualLogitsHasItsScaleInTheWeights() {
        InitialMerge.Prediction uniform =
                InitialMerge.of(Preset.named("deepseek-v3"), 0).uniform();
        assertThat(uniform.sumOfWeights()).isCloseTo(2.5, within(ROUNDING));
        assertThat(uniform.scale().weightedMean()).isCloseTo(3.5 / 9, within(ROUNDING));
        assertThat(uniform.scale().varianceRatio()).isCloseTo((6.25 / 8 + 1) / 9, within(ROUNDING));
    }

    @Test
    void aGateOnTheSharedExpertIsHalfOpen() {
        InitialMerge merge = InitialMerge.of(
                preset(
                        "shared.count",
                        "1",
                        "shared.intermediateSize",
                        "4",
                        "merge.convention",
                        "sigmoid-gated",
                        "router.renormalization",
                        "sum"),
                0);
        assertThat(merge.sharedScale()).isEqualTo(0.5);
        assertThat(merge.uniform().scale().weightedMean()).isCloseTo(0.75, within(ROUNDING));
    }

    @ParameterizedTest
    @ValueSource(strings = {"mixtral-8x7b", "olmoe-1b-7b", "deepseek-v3", "qwen3-30b-a3b"})
    void withoutSpreadNormalLogitsAreEqualLogits(String model) {
        InitialMerge merge = InitialMerge.of(Preset.named(model), 0);
        assertThat(merge.normal().sumOfSquares()).isCloseTo(merge.uniform().sumOfSquares(), within(ROUNDING));
        assertThat(merge.normal().errorOfSquares()).isLessThan(ROUNDING);
    }

    /**
     * Of two experts the likelier: p = σ(|d|) with the difference d of the logits normal of variance 2σ². Mean and standard deviation
     * by Simpson's rule.
     */
    @ParameterizedTest
    @ValueSource(doubles = {0.3, 0.9, 3})
    void normalLogitsOfTwoExpertsHaveTheMomentsOfTheIntegral(double spread) {
        InitialMerge.Prediction normal =
                InitialMerge.of(preset("router.score", "softmax"), spread).normal();
        double mean = integral(spread, p -> p);
        double squares = integral(spread, p -> p * p);
        double fourths = integral(spread, p -> p * p * p * p);
        double error = Math.sqrt((squares - mean * mean) / InitialMerge.TOKENS);
        double errorOfSquares = Math.sqrt((fourths - squares * squares) / InitialMerge.TOKENS);
        assertThat(normal.sumOfWeights()).isCloseTo(mean, within(4 * error));
        assertThat(normal.sumOfSquares()).isCloseTo(squares, within(4 * errorOfSquares));
        assertThat(normal.errorOfSum()).isCloseTo(error, within(0.1 * error));
        assertThat(normal.errorOfSquares()).isCloseTo(errorOfSquares, within(0.1 * errorOfSquares));
    }

    /** E f(σ(|d|)) for d ~ N(0, 2σ²). */
    private static double integral(double spread, DoubleUnaryOperator f) {
        int steps = 4000;
        double last = 10;
        double width = last / steps;
        double sum = 0;
        for (int i = 0; i <= steps; i++) {
            double z = i * width;
            double p = 1 / (1 + Math.exp(-z * spread * Math.sqrt(2)));
            double density = 2 * Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
            sum += (i == 0 || i == steps ? 1 : i % 2 == 0 ? 2 : 4) * density * f.applyAsDouble(p);
        }
        return sum * width / 3;
    }

    @Test
    void theSpreadIsTheRangeTimesTheRootOfTheWidth() throws IOException {
        ModelConfig config = PublishedTotalsTest.released("mixtral-8x7b");
        assertThat(InitialMerge.of(config, Preset.named("mixtral-8x7b")).logitSpread())
                .isCloseTo(0.02 * 64, within(ROUNDING));
        ModelConfig silent = ModelConfig.parse("c", "{}");
        assertThat(InitialMerge.of(silent, preset()).logitSpread()).isCloseTo(0.04, within(ROUNDING));
        ModelConfig wide = ModelConfig.parse("c", "{\"initializer_range\": 0.5}");
        assertThat(InitialMerge.of(wide, preset()).logitSpread()).isEqualTo(1);
    }

    @Test
    void otherRangesAreRefused() {
        assertThatThrownBy(() -> InitialMerge.of(ModelConfig.parse("c", "{\"initializer_range\": \"x\"}"), preset()))
                .hasMessage("c: initializer_range: expected a number but was x");
        assertThatThrownBy(() -> InitialMerge.of(ModelConfig.parse("c", "{\"initializer_range\": -1}"), preset()))
                .hasMessage("c: initializer_range: expected a finite number of at least 0 but was -1");
    }

    @Test
    void aSharedRouterIsRefused() {
        Preset preset =
                preset("shared.count", "1", "shared.intermediateSize", "4", "merge.convention", "shared-router");
        assertThatThrownBy(() -> InitialMerge.of(preset, 1))
                .hasMessage("merge: expected fixed factors or a sigmoid gate but was shared-router");
    }
}
