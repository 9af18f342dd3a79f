package org.moe4j.checkpoint.census;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.checkpoint.config.ModelConfig;

/** From config.json alone, the parameter counts that others publish of the released checkpoints. */
class PublishedTotalsTest {
    static ModelConfig released(String name) throws IOException {
        try (InputStream stream =
                Objects.requireNonNull(PublishedTotalsTest.class.getResourceAsStream("/released/" + name + ".json"))) {
            return ModelConfig.parse(name, new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    @ParameterizedTest
    @CsvSource({
        // the sum over the released checkpoint's tensors, which others print of the loaded model
        "olmoe-1b-7b, 6919161856",
        "mixtral-8x7b, 46702792704",
        "qwen3-30b-a3b, 30532122624",
        "deepseek-v3, 671026419200",
        "deepseek-v2, 235741434880",
        "deepseek-v2-lite, 15706484224",
        "deepseek-moe-16b, 16375728128",
        "qwen1.5-moe, 14315784192",
        "gpt-oss-120b, 116829156672",
        "gpt-oss-20b, 20914757184",
    })
    void theTotalIsThePublishedOne(String model, long parameters) throws IOException {
        assertThat(Census.of(released(model)).parameters()).hasValue(parameters);
    }

    @ParameterizedTest
    @CsvSource({
        "olmoe-1b-7b, 1178994688, 1282017280",
        "mixtral-8x7b, 12748853248, 12879925248",
        "qwen3-30b-a3b, 3041867776, 3353032704",
        "deepseek-v3, 36625618432, 37552297472",
    })
    void activeParametersAreThePublishedOnes(String model, long without, long with) throws IOException {
        Census census = Census.of(released(model));
        assertThat(census.activeWithoutEmbedding()).hasValue(without);
        assertThat(census.activeWithEmbedding()).hasValue(with);
    }

    /** Table 1 of the model card of gpt-oss, in billions: the unembedding counts as active, the embedding does not. */
    @ParameterizedTest
    @CsvSource({"gpt-oss-120b, 114.71, 0.96, 1.16, 5.13", "gpt-oss-20b, 19.12, 0.64, 1.16, 3.61"})
    void gptOssHasTheTableOfItsModelCard(String model, double mlp, double attention, double tables, double active)
            throws IOException {
        Census census = Census.of(released(model));
        assertThat(billions(census, Role.ROUTED_EXPERTS, Role.ROUTER)).isCloseTo(mlp, within(0.005));
        assertThat(billions(census, Role.ATTENTION)).isCloseTo(attention, within(0.005));
        assertThat(billions(census, Role.EMBEDDING, Role.LM_HEAD)).isCloseTo(tables, within(0.005));
        assertThat(census.activeWithoutEmbedding().orElseThrow() / 1e9).isCloseTo(active, within(0.005));
    }

    private static double billions(Census census, Role... roles) {
        long sum = 0;
        for (Role role : roles) {
            sum += census.counts().get(role).parameters();
        }
        return sum / 1e9;
    }

    /** A published census of OLMoE-1B-7B that goes through it tensor by tensor; its norms are those outside attention. */
    @Test
    void olmoeHasThePublishedCensusRoleByRole() throws IOException {
        Census census = Census.of(released("olmoe-1b-7b"));
        assertThat(census.counts().keySet())
                .containsExactly(
                        Role.EMBEDDING, Role.LM_HEAD, Role.ATTENTION, Role.ROUTER, Role.ROUTED_EXPERTS, Role.NORMS);
        assertThat(parameters(census, Role.EMBEDDING)).isEqualTo(103_022_592L);
        assertThat(parameters(census, Role.LM_HEAD)).isEqualTo(103_022_592L);
        assertThat(parameters(census, Role.ATTENTION)).isEqualTo(268_500_992L);
        assertThat(parameters(census, Role.ROUTER)).isEqualTo(2_097_152L);
        assertThat(parameters(census, Role.ROUTED_EXPERTS)).isEqualTo(6_442_450_944L);
        assertThat(parameters(census, Role.NORMS)).isEqualTo(67_584L);
        assertThat(100.0
                        * parameters(census, Role.ROUTED_EXPERTS)
                        / census.parameters().orElseThrow())
                .isCloseTo(93.1, within(0.05));
        assertThat(census.counted().bytes().orElseThrow() / (double) (1L << 30)).isCloseTo(12.89, within(0.005));
        assertThat(census.counts().get(Role.ROUTED_EXPERTS).active()).isEqualTo(6_442_450_944L / 8);
    }

    private static long parameters(Census census, Role role) {
        return census.counts().get(role).parameters();
    }

    /** DeepSeek's README says 671 billion in the main model; the router's 58 selection biases of 256 are among them. */
    @Test
    void deepSeekV3sRouterCountsItsSelectionBias() throws IOException {
        Census census = Census.of(released("deepseek-v3"));
        assertThat(parameters(census, Role.ROUTER)).isEqualTo(58L * (256 * 7168 + 256));
        assertThat(parameters(census, Role.SHARED_EXPERTS)).isEqualTo(58L * 3 * 7168 * 2048);
        assertThat(parameters(census, Role.DENSE_MLP)).isEqualTo(3L * 3 * 7168 * 18432);
        assertThat(census.prediction()).isEmpty();
    }

    /** Moonshot says a trillion parameters, 32 billion of them active. */
    @Test
    void kimiK2HasATrillion() throws IOException {
        Census census = Census.of(released("kimi-k2"));
        assertThat(census.parameters().orElseThrow() / 1e12).isCloseTo(1.0, within(0.05));
        assertThat(census.activeWithoutEmbedding().orElseThrow() / 1e9).isCloseTo(32, within(1.0));
    }

    @Test
    void bytesNeedAType() throws IOException {
        assertThat(Census.of(released("gpt-oss-20b")).counted().bytes()).isEmpty();
    }
}
