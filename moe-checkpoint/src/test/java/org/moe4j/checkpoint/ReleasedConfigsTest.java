package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.MergeConvention;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;

/**
 * What released configurations mean is what the library's presets of the same models say. The keys below are those of the released
 * files that concern an MoE layer, typed from the sources that the presets name; two ways from a model to its layer, one by its
 * configuration and the rules of its family, one by a file that was written from papers and code.
 */
class ReleasedConfigsTest {
    private static final String FP8 = "\"quantization_config\": {\"activation_scheme\": \"dynamic\", \"fmt\": \"e4m3\","
            + " \"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]}";

    private static final String NANO = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
    private static final String SUPER =
            "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME";

    private static ModelConfig config(String keys) {
        try {
            return ModelConfig.parse("config.json", "{" + keys.replace('\'', '"') + "}");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Preset of(ModelConfig config) {
        return Layout.of(config).preset(config);
    }

    private static void assertSame(String keys, String preset, int layers, int first) {
        ModelConfig config = config(keys);
        assertSame(of(config), Preset.named(preset));
        assertThat(RouterConfig.from(of(config))).isEqualTo(RouterConfig.from(Preset.named(preset)));
        assertThat(Layout.of(config).moeLayers(config)).hasSize(layers).startsWith(first);
    }

    /** All but the router. */
    private static void assertSame(Preset actual, Preset expected) {
        assertThat(ExpertShape.routed(actual)).isEqualTo(ExpertShape.routed(expected));
        assertThat(ExpertShape.shared(actual)).isEqualTo(ExpertShape.shared(expected));
        assertThat(ExpertShape.tokenWidth(actual)).isEqualTo(ExpertShape.tokenWidth(expected));
        assertThat(merge(actual)).isEqualTo(merge(expected));
    }

    private static List<String> merge(Preset preset) {
        if (preset.section("merge").isEmpty()) {
            return List.of();
        }
        try (MergeConvention merge = MergeConvention.from(preset, ReferenceBackend.instance(), 0)) {
            return List.of(merge.name());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "olmoe-1b-7b, 2048, 1024, 64, 8, 16",
    })
    void olmoe(String preset, int hidden, int inner, int experts, int topK, int layers) {
        assertSame(
                "'model_type': 'olmoe', 'hidden_act': 'silu', 'norm_topk_prob': false, 'router_aux_loss_coef': 0.01,"
                        + sizes(hidden, "intermediate_size", inner, "num_experts", experts, topK, layers),
                preset,
                layers,
                0);
    }

    @ParameterizedTest
    @CsvSource({"mixtral-8x7b, 4096, 14336, 32", "mixtral-8x22b, 6144, 16384, 56"})
    void mixtral(String preset, int hidden, int inner, int layers) {
        assertSame(
                "'model_type': 'mixtral', 'hidden_act': 'silu', 'router_aux_loss_coef': 0.02,"
                        + sizes(hidden, "intermediate_size", inner, "num_local_experts", 8, 2, layers),
                preset,
                layers,
                0);
    }

    @ParameterizedTest
    @CsvSource({"qwen1.5-moe-a2.7b, 2048, 1408, 60, 4, 24, 5632", "qwen2-57b-a14b, 3584, 2560, 64, 8, 28, 20480"})
    void qwen2(String preset, int hidden, int inner, int experts, int topK, int layers, int shared) {
        assertSame(
                "'model_type': 'qwen2_moe', 'hidden_act': 'silu', 'decoder_sparse_step': 1, 'norm_topk_prob': false,"
                        + " 'intermediate_size': " + shared + ", 'shared_expert_intermediate_size': " + shared + ","
                        + sizes(hidden, "moe_intermediate_size", inner, "num_experts", experts, topK, layers),
                preset,
                layers,
                0);
    }

    @ParameterizedTest
    @CsvSource({"qwen3-30b-a3b, 2048, 768, 48", "qwen3-235b-a22b, 4096, 1536, 94"})
    void qwen3(String preset, int hidden, int inner, int layers) {
        assertSame(
                "'model_type': 'qwen3_moe', 'hidden_act': 'silu', 'decoder_sparse_step': 1, 'mlp_only_layers': [],"
                        + " 'norm_topk_prob': true,"
                        + sizes(hidden, "moe_intermediate_size", inner, "num_experts", 128, 8, layers),
                preset,
                layers,
                0);
    }

    @Test
    void qwen3Next() {
        assertSame(
                "'model_type': 'qwen3_next', 'hidden_act': 'silu', 'decoder_sparse_step': 1, 'mlp_only_layers': [],"
                        + " 'norm_topk_prob': true, 'shared_expert_intermediate_size': 512, 'intermediate_size': 5120,"
                        + sizes(2048, "moe_intermediate_size", 512, "num_experts", 512, 10, 48),
                "qwen3-next-80b-a3b",
                48,
                0);
    }

    /** Nested, with a model type of its own outside and inside. */
    @Test
    void qwen35() {
        assertSame(
                "'model_type': 'qwen3_5_moe', 'text_config': {'model_type': 'qwen3_5_moe_text', 'hidden_act': 'silu',"
                        + " 'shared_expert_intermediate_size': 512,"
                        + sizes(2048, "moe_intermediate_size", 512, "num_experts", 256, 8, 40) + "}",
                "qwen3.5-35b-a3b",
                40,
                0);
    }

    @Test
    void deepSeekMoe() {
        assertSame(
                "'model_type': 'deepseek', 'hidden_act': 'silu', 'first_k_dense_replace': 1, 'moe_layer_freq': 1,"
                        + " 'n_shared_experts': 2, 'norm_topk_prob': false, 'scoring_func': 'softmax',"
                        + " 'intermediate_size': 10944,"
                        + sizes(2048, "moe_intermediate_size", 1408, "n_routed_experts", 64, 6, 28),
                "deepseek-moe-16b",
                27,
                1);
    }

    @Test
    void deepSeekV2() {
        assertSame(
                "'model_type': 'deepseek_v2', 'hidden_act': 'silu', 'first_k_dense_replace': 1, 'moe_layer_freq': 1,"
                        + " 'n_shared_experts': 2, 'norm_topk_prob': false, 'scoring_func': 'softmax',"
                        + " 'topk_method': 'group_limited_greedy', 'n_group': 8, 'topk_group': 3,"
                        + " 'routed_scaling_factor': 16.0,"
                        + sizes(5120, "moe_intermediate_size", 1536, "n_routed_experts", 160, 6, 60),
                "deepseek-v2",
                59,
                1);
    }

    @Test
    void deepSeekV2Lite() {
        assertSame(
                "'model_type': 'deepseek_v2', 'hidden_act': 'silu', 'first_k_dense_replace': 1, 'moe_layer_freq': 1,"
                        + " 'n_shared_experts': 2, 'norm_topk_prob': false, 'scoring_func': 'softmax',"
                        + " 'topk_method': 'greedy', 'n_group': 1, 'topk_group': 1, 'routed_scaling_factor': 1.0,"
                        + sizes(2048, "moe_intermediate_size", 1408, "n_routed_experts", 64, 6, 27),
                "deepseek-v2-lite",
                26,
                1);
    }

    /** The rules of the family follow Transformers, which adds 1e-20 to the sum; the preset follows the released code, which adds none. */
    @Test
    void deepSeekV3() {
        ModelConfig config = config(v3("deepseek_v3", 256, 3, 8, 4, "2.5"));
        assertSame(of(config), Preset.named("deepseek-v3"));
        RouterConfig router = RouterConfig.from(of(config));
        RouterConfig released = RouterConfig.from(Preset.named("deepseek-v3"));
        assertThat(router.renormalization())
                .isEqualTo(new Renormalization.Sum(1e-20, Renormalization.EpsilonPlace.IN_SUM));
        assertThat(released.renormalization())
                .isEqualTo(new Renormalization.Sum(0, Renormalization.EpsilonPlace.IN_SUM));
        assertThat(router)
                .isEqualTo(new RouterConfig(
                        released.experts(),
                        released.topK(),
                        released.score(),
                        released.selection(),
                        router.renormalization(),
                        released.scale(),
                        released.selectionBias(),
                        released.logitBias(),
                        released.precision()));
        assertThat(Layout.of(config).moeLayers(config)).hasSize(58).startsWith(3);
    }

    @Test
    void kimiK2() {
        assertSame(v3("kimi_k2", 384, 1, 1, 1, "2.827"), "kimi-k2", 60, 1);
    }

    private static String v3(String type, int experts, int dense, int groups, int kept, String scale) {
        return "'model_type': '" + type + "', 'hidden_act': 'silu', 'first_k_dense_replace': " + dense
                + ", 'moe_layer_freq': 1, 'n_shared_experts': 1, 'norm_topk_prob': true, 'scoring_func': 'sigmoid',"
                + " 'topk_method': 'noaux_tc', 'n_group': " + groups + ", 'topk_group': " + kept
                + ", 'routed_scaling_factor': " + scale + ", 'intermediate_size': 18432, " + FP8 + ","
                + sizes(7168, "moe_intermediate_size", 2048, "n_routed_experts", experts, 8, 61);
    }

    @ParameterizedTest
    @CsvSource({"gpt-oss-20b, 32, 24", "gpt-oss-120b, 128, 36"})
    void gptOss(String preset, int experts, int layers) {
        assertSame(
                "'model_type': 'gpt_oss', 'hidden_act': 'silu', 'experts_per_token': 4, 'swiglu_limit': 7.0,"
                        + " 'quantization_config': {'quant_method': 'mxfp4'},"
                        + sizes(2880, "intermediate_size", 2880, "num_local_experts", experts, 4, layers),
                preset,
                layers,
                0);
    }

    /** Keys of the repository's own configuration. */
    @ParameterizedTest
    @CsvSource({"gpt-oss-20b, 32, 24", "gpt-oss-120b, 128, 36"})
    void gptOssOriginal(String preset, int experts, int layers) {
        assertSame(
                "'num_hidden_layers': " + layers + ", 'num_experts': " + experts + ", 'experts_per_token': 4,"
                        + " 'hidden_size': 2880, 'intermediate_size': 2880, 'swiglu_limit': 7.0,"
                        + " 'initial_context_length': 4096",
                preset,
                layers,
                0);
    }

    /** Patterns of layers as in NVIDIA's scripts for Megatron-LM. */
    @ParameterizedTest
    @CsvSource({
        "megatron-nemotron-3-nano, " + NANO + ", 2688, 1856, 128, 6, 52, 3712, null, 2.5, 23",
        "megatron-nemotron-3-super, " + SUPER + ", 4096, 2688, 512, 22, 88, 5376, 1024, 5.0, 40",
    })
    void nemotron3(
            String preset,
            String pattern,
            int hidden,
            int inner,
            int experts,
            int topK,
            int layers,
            int shared,
            String latent,
            String scale,
            int moeLayers) {
        assertSame(
                "'model_type': 'nemotron_h', 'mlp_hidden_act': 'relu2', 'mlp_bias': false, 'n_shared_experts': 1,"
                        + " 'n_group': 1, 'topk_group': 1, 'norm_topk_prob': true, 'hybrid_override_pattern': '"
                        + pattern
                        + "', 'moe_shared_expert_intermediate_size': " + shared + ", 'moe_latent_size': " + latent
                        + ", 'routed_scaling_factor': " + scale + ","
                        + sizes(hidden, "moe_intermediate_size", inner, "n_routed_experts", experts, topK, layers),
                preset,
                moeLayers,
                1);
    }

    /** Sizes of the third model; its pattern of layers was not read, so that a short one stands for it. */
    @Test
    void nemotron3Ultra() {
        assertSame(
                "'model_type': 'nemotron_h', 'mlp_hidden_act': 'relu2', 'mlp_bias': false, 'n_shared_experts': 1,"
                        + " 'n_group': 1, 'topk_group': 1, 'norm_topk_prob': true, 'hybrid_override_pattern': 'ME*E',"
                        + " 'moe_shared_expert_intermediate_size': 10240, 'moe_latent_size': 2048,"
                        + " 'routed_scaling_factor': 5.0,"
                        + sizes(8192, "moe_intermediate_size", 5120, "n_routed_experts", 512, 22, 4),
                "megatron-nemotron-3-ultra",
                2,
                1);
    }

    private static String sizes(int hidden, String width, int inner, String count, int experts, int topK, int layers) {
        return "'hidden_size': " + hidden + ", '" + width + "': " + inner + ", '" + count + "': " + experts
                + ", 'num_experts_per_tok': " + topK + ", 'num_hidden_layers': " + layers;
    }
}
