package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.bench.layer.LayerCase.Sizes;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;

/**
 * What every preset multiplies its branches by, as one who knows the model would say it: the sum of the routed coefficients of
 * a token and the coefficient of the shared expert (Equation 80 of the report on Olmo's MoE recipe).
 */
class PresetCoefficientsTest {
    private static final double ROUNDING = 1e-13; // some twenty operations in double, each of about 1
    private static final Map<String, Line> LINES = new TreeMap<>();

    /** What the routed coefficients of a token add up to, but for a constant. */
    private enum Mass {
        /** Weights are renormalised. */
        ONE,
        /** {@code m/(m + 1e-9)}, m as below. */
        NEARLY_ONE,
        /** m_K, the softmax over all experts summed over the selected: below 1, and different from token to token. */
        SELECTED
    }

    /** Coefficient of the shared expert. */
    private enum Shared {
        NONE,
        ONE,
        /** 1/(K + 1), with K = 4. */
        ONE_FIFTH,
        /** σ(x·g). */
        GATE
    }

    private record Line(double factor, Mass mass, Shared shared, String reason) {}

    private static void line(String preset, double factor, Mass mass, Shared shared, String reason) {
        LINES.put(preset, new Line(factor, mass, shared, reason));
    }

    static {
        line("olmo-study", 4, Mass.ONE, Shared.ONE, "r = K·p with K = 4 (Equation 83 of the report)");
        line("olmo-core-main", 4 / 5.0, Mass.SELECTED, Shared.ONE_FIFTH, "raw weights; the mean of K + 1 experts");
        line("olmoe-1b-7b", 1, Mass.SELECTED, Shared.NONE, "norm_topk_prob false");
        line("mixtral-8x7b", 1, Mass.ONE, Shared.NONE, "softmax of the two");
        line("mixtral-8x22b", 1, Mass.ONE, Shared.NONE, "softmax of the two");
        line("qwen1.5-moe-a2.7b", 1, Mass.SELECTED, Shared.GATE, "norm_topk_prob false");
        line("qwen2-57b-a14b", 1, Mass.SELECTED, Shared.GATE, "norm_topk_prob false");
        line("qwen3-30b-a3b", 1, Mass.ONE, Shared.NONE, "norm_topk_prob true");
        line("qwen3-235b-a22b", 1, Mass.ONE, Shared.NONE, "norm_topk_prob true");
        line("qwen3-next-80b-a3b", 1, Mass.ONE, Shared.GATE, "norm_topk_prob true");
        line("qwen3.5-35b-a3b", 1, Mass.ONE, Shared.GATE, "always renormalised");
        line("deepseek-moe-16b", 1, Mass.SELECTED, Shared.ONE, "norm_topk_prob false, no scale");
        line("deepseek-v2-lite", 1, Mass.SELECTED, Shared.ONE, "softmax is not renormalised; routed_scaling_factor 1");
        line("deepseek-v2", 16, Mass.SELECTED, Shared.ONE, "softmax is not renormalised; routed_scaling_factor 16");
        line("deepseek-v3", 2.5, Mass.ONE, Shared.ONE, "sigmoids are renormalised; route_scale 2.5");
        line("megatron-deepseek-v3", 2.5, Mass.ONE, Shared.ONE, "moe-router-topk-scaling-factor 2.5");
        line("kimi-k2", 2.827, Mass.ONE, Shared.ONE, "norm_topk_prob true, routed_scaling_factor 2.827");
        line("megatron-kimi-k2", 2.827, Mass.ONE, Shared.ONE, "moe-router-topk-scaling-factor 2.827");
        line("megatron-nemotron-3-nano", 2.5, Mass.ONE, Shared.ONE, "moe-router-topk-scaling-factor 2.5");
        line("megatron-nemotron-3-super", 5, Mass.ONE, Shared.ONE, "moe-router-topk-scaling-factor 5.0");
        line("megatron-nemotron-3-ultra", 5, Mass.ONE, Shared.ONE, "moe-router-topk-scaling-factor 5.0");
        line("gpt-oss-20b", 1, Mass.ONE, Shared.NONE, "softmax of the four");
        line("gpt-oss-120b", 1, Mass.ONE, Shared.NONE, "softmax of the four");
        line("switch-base-128", 1, Mass.SELECTED, Shared.NONE, "the probability of the one");
        line("gshard-512", 1, Mass.NEARLY_ONE, Shared.NONE, "g1 and g2 by g1 + g2 + 1e-9");
        line("v-moe-s32-last2", 1, Mass.SELECTED, Shared.NONE, "probabilities as they are");
        line("shazeer-2017", 1, Mass.ONE, Shared.NONE, "softmax of the two");
        line("megatron-core", 1, Mass.ONE, Shared.NONE, "softmax of the selected logits");
        line("megatron-core-pre-softmax", 1, Mass.SELECTED, Shared.NONE, "moe_router_pre_softmax");
        line("megablocks-moe", 1, Mass.SELECTED, Shared.NONE, "moe_normalize_expert_weights is None");
        line("megablocks-dmoe", 1, Mass.SELECTED, Shared.NONE, "moe_normalize_expert_weights is None");
    }

    static Stream<String> presets() {
        return Preset.names().stream();
    }

    @Test
    void everyPresetHasALine() {
        assertThat(LINES.keySet()).isEqualTo(Preset.names());
    }

    @ParameterizedTest
    @MethodSource("presets")
    void coefficientsAreThoseOfTheModel(String preset) {
        Line line = LINES.get(preset);
        LayerCase c = PresetWords.layer(preset, new Sizes(5, 9, 8));
        ReferenceBackend backend = ReferenceBackend.instance();
        try (MoeLayer layer = PresetLayer.of(c, backend);
                MoePass pass = layer.withCapacity(Capacity.dropless())
                        .forward(c.tokens().on(backend))) {
            pass.output().close();
            for (int t = 0; t < 5; t++) {
                double sum = 0;
                for (int rank = 0; rank < pass.routing().count(t); rank++) {
                    sum += pass.coefficients().routed(t, rank);
                }
                double mass = line.mass() == Mass.ONE ? 1 : selectedMass(c, t);
                mass = line.mass() == Mass.NEARLY_ONE ? mass / (mass + 1e-9) : mass;
                assertThat(sum)
                        .as("routed sum of token %d: %s", t, line.reason())
                        .isCloseTo(line.factor() * mass, within(ROUNDING * sum));
                assertShared(line.shared(), c, pass, t);
            }
        }
    }

    /** m_K, from the logits alone. */
    private static double selectedMass(LayerCase c, int token) {
        double[] logits = TokenwiseRoutes.logits(c, token);
        double all = 0;
        double selected = 0;
        for (int e = 0; e < logits.length; e++) {
            double power = StrictMath.exp(logits[e]);
            all += power;
            selected += TokenwiseRouter.selected(c.router(), logits).contains(e) ? power : 0;
        }
        assertThat(selected / all).isBetween(0.01, 0.999);
        return selected / all;
    }

    private static void assertShared(Shared shared, LayerCase c, MoePass pass, int token) {
        assertThat(pass.sharedOutputs()).hasSize(shared == Shared.NONE ? 0 : 1);
        switch (shared) {
            case NONE -> assertThat(c.shared().widths()).isEmpty();
            case ONE -> assertThat(pass.coefficients().shared(token, 0)).isEqualTo(1);
            case ONE_FIFTH -> assertThat(pass.coefficients().shared(token, 0)).isEqualTo(0.2);
            case GATE -> {
                Numbers gate = c.parameters().get("merge.gate");
                double z = 0;
                for (int d = 0; d < gate.columns(); d++) {
                    z += gate.values()[d] * c.tokens().values()[token * gate.columns() + d];
                }
                double expected = 1 / (1 + StrictMath.exp(-z));
                assertThat(expected).isStrictlyBetween(0.0, 1.0);
                assertThat(pass.coefficients().shared(token, 0)).isCloseTo(expected, within(ROUNDING));
            }
        }
    }
}
