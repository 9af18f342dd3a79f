package org.moe4j.checkpoint.census;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.safetensors.TensorStore;

/**
 * Checkpoints of one layer with every tensor that the family's own code makes, typed from there with small sizes: formulas and
 * headers count the same, and no name is left over.
 */
class CompleteCheckpointsTest {
    private static final String MOE = """
            model.layers.0.mlp.gate.weight 2 12
            model.layers.0.mlp.experts.0.gate_proj.weight 5 12
            model.layers.0.mlp.experts.0.up_proj.weight 5 12
            model.layers.0.mlp.experts.0.down_proj.weight 12 5
            model.layers.0.mlp.experts.1.gate_proj.weight 5 12
            model.layers.0.mlp.experts.1.up_proj.weight 5 12
            model.layers.0.mlp.experts.1.down_proj.weight 12 5
            """;
    private static final String AROUND = """
            model.embed_tokens.weight 7 12
            lm_head.weight 7 12
            model.norm.weight 12
            model.layers.0.input_layernorm.weight 12
            model.layers.0.post_attention_layernorm.weight 12
            """;
    private static final String SIZES = """
            "vocab_size": 7, "hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 4, "num_experts_per_tok": 1,
            "dtype": "bfloat16",
            """;

    @TempDir
    private Path folder;

    private Census assertComplete(String config, String tensors) throws IOException {
        Manifest.write(folder, "{" + config.strip().replaceFirst(",$", "") + "}", tensors);
        ModelConfig model = ModelConfig.read(folder);
        Census expected = Census.of(model);
        try (TensorStore store = TensorStore.open(folder)) {
            Census stored = Census.of(model, store);
            assertThat(stored).isEqualTo(expected);
            assertThat(stored.unknown()).isEmpty();
            assertThat(stored.others()).isEmpty();
            return stored;
        }
    }

    @Test
    void qwen3NormsEachHead() throws IOException {
        Census census = assertComplete(SIZES + """
                "model_type": "qwen3_moe", "head_dim": 5, "num_key_value_heads": 2, "num_experts": 2,
                "moe_intermediate_size": 5, "intermediate_size": 9
                """, AROUND + MOE + """
                model.layers.0.self_attn.q_proj.weight 20 12
                model.layers.0.self_attn.k_proj.weight 10 12
                model.layers.0.self_attn.v_proj.weight 10 12
                model.layers.0.self_attn.o_proj.weight 12 20
                model.layers.0.self_attn.q_norm.weight 5
                model.layers.0.self_attn.k_norm.weight 5
                """);
        assertThat(census.counts().get(Role.ATTENTION).parameters()).isEqualTo(20 * 12 * 2 + 10 * 12 * 2 + 10);
    }

    @Test
    void olmoeNormsAllHeadsTogether() throws IOException {
        assertComplete(SIZES + """
                "model_type": "olmoe", "num_key_value_heads": 2, "num_experts": 2, "intermediate_size": 5
                """, AROUND + MOE + """
                model.layers.0.self_attn.q_proj.weight 12 12
                model.layers.0.self_attn.k_proj.weight 6 12
                model.layers.0.self_attn.v_proj.weight 6 12
                model.layers.0.self_attn.o_proj.weight 12 12
                model.layers.0.self_attn.q_norm.weight 12
                model.layers.0.self_attn.k_norm.weight 6
                """);
    }

    @Test
    void qwen2HasBiasesOnThreeProjectionsAndADenseLayer() throws IOException {
        assertComplete(
                SIZES.replace("\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2") + """
                "model_type": "qwen2_moe", "num_key_value_heads": 4, "num_experts": 2, "moe_intermediate_size": 5,
                "intermediate_size": 9, "shared_expert_intermediate_size": 8, "mlp_only_layers": [1]
                """,
                AROUND + MOE + """
                model.layers.0.mlp.shared_expert.gate_proj.weight 8 12
                model.layers.0.mlp.shared_expert.up_proj.weight 8 12
                model.layers.0.mlp.shared_expert.down_proj.weight 12 8
                model.layers.0.mlp.shared_expert_gate.weight 1 12
                model.layers.1.mlp.gate_proj.weight 9 12
                model.layers.1.mlp.up_proj.weight 9 12
                model.layers.1.mlp.down_proj.weight 12 9
                model.layers.1.input_layernorm.weight 12
                model.layers.1.post_attention_layernorm.weight 12
                """ + qwen2Attention(0) + qwen2Attention(1));
    }

    private static String qwen2Attention(int layer) {
        return """
                model.layers.N.self_attn.q_proj.weight 12 12
                model.layers.N.self_attn.k_proj.weight 12 12
                model.layers.N.self_attn.v_proj.weight 12 12
                model.layers.N.self_attn.o_proj.weight 12 12
                model.layers.N.self_attn.q_proj.bias 12
                model.layers.N.self_attn.k_proj.bias 12
                model.layers.N.self_attn.v_proj.bias 12
                """.replace("N", Integer.toString(layer));
    }

    private static final String LATENT_ATTENTION = """
            "n_routed_experts": 2, "first_k_dense_replace": 0, "moe_intermediate_size": 5, "intermediate_size": 9, "kv_lora_rank": 3,
            "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 5,
            """;

    @Test
    void deepSeekV3HasLatentAttention() throws IOException {
        assertComplete(SIZES + LATENT_ATTENTION + """
                "model_type": "deepseek_v3", "q_lora_rank": 6, "n_shared_experts": 1, "n_group": 1, "topk_group": 1
                """, AROUND + MOE + """
                model.layers.0.mlp.gate.e_score_correction_bias 2
                model.layers.0.mlp.shared_experts.gate_proj.weight 5 12
                model.layers.0.mlp.shared_experts.up_proj.weight 5 12
                model.layers.0.mlp.shared_experts.down_proj.weight 12 5
                model.layers.0.self_attn.q_a_proj.weight 6 12
                model.layers.0.self_attn.q_a_layernorm.weight 6
                model.layers.0.self_attn.q_b_proj.weight 24 6
                model.layers.0.self_attn.kv_a_proj_with_mqa.weight 5 12
                model.layers.0.self_attn.kv_a_layernorm.weight 3
                model.layers.0.self_attn.kv_b_proj.weight 36 3
                model.layers.0.self_attn.o_proj.weight 12 20
                """);
    }

    @Test
    void deepSeekV2LiteHasNoLatentQueriesAndCanHaveBiases() throws IOException {
        assertComplete(SIZES + LATENT_ATTENTION + """
                "model_type": "deepseek_v2", "q_lora_rank": null, "attention_bias": true
                """, AROUND + MOE + """
                model.layers.0.self_attn.q_proj.weight 24 12
                model.layers.0.self_attn.kv_a_proj_with_mqa.weight 5 12
                model.layers.0.self_attn.kv_a_proj_with_mqa.bias 5
                model.layers.0.self_attn.kv_a_layernorm.weight 3
                model.layers.0.self_attn.kv_b_proj.weight 36 3
                model.layers.0.self_attn.o_proj.weight 12 20
                model.layers.0.self_attn.o_proj.bias 12
                """);
    }

    @Test
    void gptOssHasBiasesAndSinks() throws IOException {
        assertComplete(SIZES + """
                "model_type": "gpt_oss", "head_dim": 5, "num_key_value_heads": 2, "num_local_experts": 2,
                "intermediate_size": 5
                """, AROUND + """
                model.layers.0.mlp.router.weight 2 12
                model.layers.0.mlp.router.bias 2
                model.layers.0.mlp.experts.gate_up_proj 2 12 10
                model.layers.0.mlp.experts.gate_up_proj_bias 2 10
                model.layers.0.mlp.experts.down_proj 2 5 12
                model.layers.0.mlp.experts.down_proj_bias 2 12
                model.layers.0.self_attn.q_proj.weight 20 12
                model.layers.0.self_attn.q_proj.bias 20
                model.layers.0.self_attn.k_proj.weight 10 12
                model.layers.0.self_attn.k_proj.bias 10
                model.layers.0.self_attn.v_proj.weight 10 12
                model.layers.0.self_attn.v_proj.bias 10
                model.layers.0.self_attn.o_proj.weight 12 20
                model.layers.0.self_attn.o_proj.bias 12
                model.layers.0.self_attn.sinks 4
                """);
    }

    @Test
    void olmoNormsBehindAndBeforeEachPart() throws IOException {
        assertComplete(SIZES + """
                "model_type": "olmo3moe", "attention_hidden_size": 20, "num_key_value_heads": 2, "n_routed_experts": 2,
                "moe_intermediate_size": 5, "dense_mlp_intermediate_size": 9, "dense_layers_indices": [],
                "use_peri_ln": true, "embed_norm": true, "use_head_qk_norm": true, "shared_expert_intermediate_size": null
                """, MOE.replace("mlp.gate.", "mlp.router.gate.") + """
                model.embed_tokens.weight 7 12
                model.embed_norm.weight 12
                lm_head.weight 7 12
                model.norm.weight 12
                model.layers.0.pre_attention_layernorm.weight 12
                model.layers.0.post_attention_layernorm.weight 12
                model.layers.0.pre_feedforward_layernorm.weight 12
                model.layers.0.post_feedforward_layernorm.weight 12
                model.layers.0.self_attn.q_proj.weight 20 12
                model.layers.0.self_attn.k_proj.weight 10 12
                model.layers.0.self_attn.v_proj.weight 10 12
                model.layers.0.self_attn.o_proj.weight 12 20
                model.layers.0.self_attn.q_norm.weight 5
                model.layers.0.self_attn.k_norm.weight 5
                """);
    }

    @Test
    void aTiedHeadIsNotStoredAndCountsAsActive() throws IOException {
        Census census = assertComplete(SIZES + """
                "model_type": "qwen3_moe", "head_dim": 3, "num_key_value_heads": 1, "num_experts": 2,
                "moe_intermediate_size": 5,
                "tie_word_embeddings": true
                """, AROUND.replace("lm_head.weight 7 12\n", "") + MOE + """
                model.layers.0.self_attn.q_proj.weight 12 12
                model.layers.0.self_attn.k_proj.weight 3 12
                model.layers.0.self_attn.v_proj.weight 3 12
                model.layers.0.self_attn.o_proj.weight 12 12
                model.layers.0.self_attn.q_norm.weight 3
                model.layers.0.self_attn.k_norm.weight 3
                """);
        assertThat(census.counts()).doesNotContainKey(Role.LM_HEAD);
        assertThat(census.activeWithoutEmbedding()).isEqualTo(census.activeWithEmbedding());
    }

    @Test
    void aTensorWithoutANameIsListedAndNotActive() throws IOException {
        String config = """
                "model_type": "qwen3_moe", "head_dim": 3, "num_key_value_heads": 1, "num_experts": 2,
                "moe_intermediate_size": 5
                """;
        Manifest.write(folder, "{" + SIZES + config + "}", AROUND + MOE + """
                model.layers.0.mlp.gate_proj.weight 9 12
                model.vision.weight 3
                """);
        ModelConfig model = ModelConfig.read(folder);
        try (TensorStore store = TensorStore.open(folder)) {
            Census census = Census.of(model, store);
            assertThat(census.others())
                    .isEqualTo(List.of("model.layers.0.mlp.gate_proj.weight", "model.vision.weight"));
            assertThat(census.counts().get(Role.OTHER).parameters()).isEqualTo(9 * 12 + 3);
            assertThat(census.counts().get(Role.OTHER).active()).isZero();
        }
    }
}
