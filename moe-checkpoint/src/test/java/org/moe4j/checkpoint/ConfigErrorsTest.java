package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is wrong with a configuration, and how it is said: always with the file and the key. */
class ConfigErrorsTest {
    @TempDir
    private Path folder;

    private void refuses(String fixture, Consumer<ObjectNode> change, String message) throws IOException {
        ChangedFixture.of(fixture).config(change).write(folder);
        assertThatThrownBy(() -> MoeCheckpoint.open(folder))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(folder.resolve("config.json") + ": " + message);
    }

    @Test
    void anUnknownKindOfModelIsRefusedWithTheClosest() throws IOException {
        ChangedFixture.of("qwen3-moe")
                .config(config -> config.put("model_type", "qwen3_mo"))
                .write(folder);
        assertThatThrownBy(() -> MoeCheckpoint.open(folder))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(
                        folder.resolve("config.json") + ": model_type: expected one of [mixtral, qwen2_moe, ")
                .hasMessageEndingWith("] but was qwen3_mo; did you mean qwen3_moe?");
    }

    @Test
    void aModelWithoutKindIsRefused() throws IOException {
        ChangedFixture.of("qwen3-moe")
                .config(config -> config.remove("model_type"))
                .write(folder);
        assertThatThrownBy(() -> MoeCheckpoint.open(folder))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith("] but was absent");
    }

    @Test
    void anAbsentKeyWithoutDefaultIsNamed() throws IOException {
        refuses(
                "deepseek-v2",
                config -> config.remove("num_experts_per_tok"),
                "num_experts_per_tok: expected a value but was absent");
    }

    @Test
    void nullIsNoDefault() throws IOException {
        refuses("deepseek-v3", config -> config.putNull("topk_group"), "topk_group: expected a value but was null");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "olmoe | hidden_act | gelu | hidden_act: expected silu (OLMoE) but was gelu",
                "deepseek-v3 | scoring_func | softmax | scoring_func: expected sigmoid (DeepSeek-V3) but was softmax",
                "deepseek-v2 | topk_method | noaux_tc | topk_method: expected one of [greedy, group_limited_greedy] but was noaux_tc",
                "nemotron-3-nano | mlp_hidden_act | silu | mlp_hidden_act: expected relu2 (Nemotron 3) but was silu",
                "nemotron-3-nano | n_group | 4 | n_group: expected 1 (Nemotron 3) but was 4",
                "olmo-hf | latent_moe_dim | 8 | latent_moe_dim: expected none (Olmo MoE) but was 8",
                "olmo-hf | emo_eval_document_expert_pool | 4 | emo_eval_document_expert_pool or n_routed_experts or num_experts: expected one value but was 4 and 8",
                "qwen3-moe | norm_topk_prob | yes | norm_topk_prob: expected one of [true, false] but was yes",
            })
    void aValueThatTheFamilyDoesNotKnowIsRefused(String fixture, String key, String value, String message)
            throws IOException {
        refuses(fixture, config -> config.put(key, value), message);
    }

    /** Each document then has all experts, as it has without pools. */
    @Test
    void aPoolOfAllExpertsIsNone() throws IOException {
        ChangedFixture.of("olmo-hf")
                .config(config -> config.put("emo_eval_document_expert_pool", 8))
                .write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder)) {
            assertThat(checkpoint.preset().section("experts").integer("count")).isEqualTo(8);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "qwen3-moe | awq | fp8 (Qwen3-MoE)",
                "olmoe | bitsandbytes | none (OLMoE)",
                "mixtral | gptq | none (Mixtral)",
                "gpt-oss-mxfp4 | compressed-tensors | mxfp4 (gpt-oss)",
            })
    void anUnknownQuantizationIsRefusedByName(String fixture, String method, String expected) throws IOException {
        refuses(
                fixture,
                config -> config.putObject("quantization_config").put("quant_method", method),
                "quantization_config.quant_method: expected " + expected + " but was " + method);
    }

    @Test
    void blocksOfAnotherSizeAreRefused() throws IOException {
        refuses(
                "deepseek-v3-fp8",
                config -> config.withObject("/quantization_config")
                        .putArray("weight_block_size")
                        .add(64)
                        .add(64),
                "quantization_config.weight_block_size: expected [128,128] (DeepSeek-V3) but was [64,64]");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "num_experts | eight | num_experts or num_local_experts (experts.count): expected a whole number but was eight",
                "num_experts | 8.0 | num_experts or num_local_experts (experts.count): expected a whole number but was 8.0",
                "num_experts | 0 | num_experts or num_local_experts (experts.count): expected at least 1 but was 0",
                "num_experts_per_tok | 9 | num_experts_per_tok (router.topK): expected 1..8 (experts) but was 9",
                "hidden_size | -1 | hidden_size (experts.hiddenSize): expected at least 1 but was -1",
                "num_hidden_layers | many | num_hidden_layers: expected a whole number in 0..100000 but was many",
                "num_hidden_layers | 2147483647 | num_hidden_layers: expected a whole number in 0..100000 but was 2147483647",
                "rms_norm_eps | small | rms_norm_eps: expected a number of at least 0 but was small",
                "rms_norm_eps | NaN | rms_norm_eps: expected a number of at least 0 but was NaN",
            })
    void aNumberThatIsNoneIsNamedByItsKey(String key, String value, String message) throws IOException {
        assertThat(ChangedFixture.of("olmoe").config().get("num_experts").asInt())
                .isEqualTo(8);
        refuses("olmoe", config -> config.put(key, value), message);
    }

    @Test
    void twoNamesOfOneSettingAgree() throws IOException {
        refuses(
                "olmoe",
                config -> config.put("num_local_experts", 7),
                "num_experts or num_local_experts: expected one value but was 8 and 7");
        ChangedFixture.of("olmoe")
                .config(config -> config.put("num_local_experts", 8))
                .write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder)) {
            assertThat(checkpoint.preset().section("experts").integer("count")).isEqualTo(8);
        }
    }

    @Test
    void listsOfLayersAreOfWholeNumbers() throws IOException {
        refuses("qwen3-moe", config -> config.put("mlp_only_layers", 3), "mlp_only_layers: expected a list but was 3");
        refuses(
                "qwen3-moe",
                config -> config.putArray("mlp_only_layers").add("a"),
                "mlp_only_layers: expected a list of whole numbers but was [\"a\"]");
        refuses(
                "qwen3-moe",
                config -> config.put("mlp_only_layers", "[1"),
                "mlp_only_layers: expected a list but was [1");
    }

    @Test
    void eachLayerHasAKind() throws IOException {
        int layers = ChangedFixture.of("nemotron-3-nano")
                .config()
                .get("num_hidden_layers")
                .asInt();
        refuses(
                "nemotron-3-nano",
                config -> config.put("hybrid_override_pattern", "ME"),
                "layers_block_type or layer_types or hybrid_override_pattern: expected " + layers
                        + " kinds (num_hidden_layers) but was 2");
    }

    @Test
    void whatOnlyTheLayerRefusesNamesTheFileToo() throws IOException {
        ChangedFixture.of("deepseek-v3")
                .config(config -> config.put("topk_group", 9))
                .write(folder);
        assertThatThrownBy(() -> MoeCheckpoint.open(folder))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(
                        folder.resolve("config.json") + ": topk_group (router.selection.keptGroups): expected ");
    }
}
