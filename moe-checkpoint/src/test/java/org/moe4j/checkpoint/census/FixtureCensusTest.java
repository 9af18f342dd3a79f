package org.moe4j.checkpoint.census;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.safetensors.TensorInfo;
import org.moe4j.checkpoint.safetensors.TensorStore;

/**
 * The miniature checkpoints by their headers. Attention in them is a stand-in of other shapes, so that it is left out where headers
 * are compared with formulas.
 */
class FixtureCensusTest {
    private static Path root() {
        try {
            return Path.of(Objects.requireNonNull(FixtureCensusTest.class.getResource("/fixtures"))
                    .toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    static List<String> names() throws IOException {
        try (Stream<Path> folders = Files.list(root())) {
            return folders.map(folder -> folder.getFileName().toString())
                    .sorted()
                    .toList();
        }
    }

    private static ModelConfig config(String name) throws IOException {
        return ModelConfig.read(root().resolve(name));
    }

    private static Census stored(String name) throws IOException {
        try (TensorStore store = TensorStore.open(root().resolve(name))) {
            return Census.of(config(name), store);
        }
    }

    @ParameterizedTest
    @MethodSource("names")
    void headersAndFormulasCountTheSame(String name) throws IOException {
        Census stored = stored(name);
        Census expected = Census.of(config(name));
        assertThat(expected.counts()).containsKeys(Role.EMBEDDING, Role.LM_HEAD, Role.ROUTER, Role.ROUTED_EXPERTS);
        for (Role role : Role.values()) {
            boolean standIn = role == Role.ATTENTION || (role == Role.NORMS && name.startsWith("olmo-hf"));
            if (!standIn && role != Role.OTHER && !expected.unknown().containsKey(role)) {
                assertThat(numbers(stored, role)).as(role.key()).isEqualTo(numbers(expected, role));
            }
        }
    }

    private static List<Long> numbers(Census census, Role role) {
        Count count = census.counts().getOrDefault(role, Count.NONE);
        return List.of(count.parameters(), count.active());
    }

    /** Role by role or one by one, the sum is the same; two numbers are in a byte of MXFP4, and scales are no parameters. */
    @ParameterizedTest
    @MethodSource("names")
    void nothingIsCountedTwiceOrLeftOut(String name) throws IOException {
        long parameters = 0;
        long bytes = 0;
        try (TensorStore store = TensorStore.open(root().resolve(name))) {
            for (String tensor : store.names()) {
                TensorInfo info = store.info(tensor);
                bytes += info.end() - info.begin();
                if (tensor.endsWith("blocks")) {
                    parameters += 2 * info.elements();
                } else if (!tensor.endsWith("scales") && !tensor.endsWith("_scale_inv")) {
                    parameters += info.elements();
                }
            }
        }
        Census stored = stored(name);
        Count all = stored.counted().plus(stored.prediction().orElse(Count.NONE));
        assertThat(all.parameters()).isEqualTo(parameters);
        assertThat(all.bytes()).hasValue(bytes);
    }

    /** The counts of the fixture's own facts: E times three matrices of F·D, or two without a gate. */
    @ParameterizedTest
    @MethodSource("names")
    void theExpertsAreThoseOfTheFacts(String name) throws IOException {
        JsonNode facts = new ObjectMapper()
                .readTree(root().resolve(name).resolve("case.json").toFile());
        long width = facts.get("hidden_size").asLong();
        long seen = facts.get("latent_size").isNull()
                ? width
                : facts.get("latent_size").asLong();
        long expert = facts.get("expert_width").asLong() * seen;
        boolean plain = facts.get("activation").asText().contains("relu2");
        long numbers = (plain ? 2 : 3) * expert;
        if (name.startsWith("gpt-oss")) {
            numbers += 2 * facts.get("expert_width").asLong() + width;
        }
        long layers = facts.get("moe_layers").size();
        Count routed = stored(name).counts().get(Role.ROUTED_EXPERTS);
        assertThat(routed.parameters()).isEqualTo(layers * facts.get("experts").asLong() * numbers);
        assertThat(routed.active()).isEqualTo(layers * facts.get("top_k").asLong() * numbers);
    }

    @ParameterizedTest
    @MethodSource("names")
    void onlyStandInsHaveNoName(String name) throws IOException {
        assertThat(stored(name).others())
                .allMatch(tensor -> tensor.contains("self_attn.")
                        || tensor.contains(".visual.")
                        || (name.startsWith("olmo-hf") && tensor.contains("input_layernorm")));
    }

    @Test
    void layersThatPredictFurtherTokensAreApart() throws IOException {
        assertThat(stored("deepseek-v3").prediction().orElseThrow().active()).isZero();
        // mtp.fc [20, 40], a router [8, 20] and the gate projection of one expert [12, 20]
        assertThat(stored("qwen3-next").prediction().orElseThrow().parameters()).isEqualTo(20 * 40 + 8 * 20 + 12 * 20);
        assertThat(stored("mixtral").prediction()).isEmpty();
    }

    /** What a Mamba mixer or linear attention has does not follow from the lines; the MoE layers do. */
    @Test
    void familiesWithOtherMixersSayWhatIsNotKnown() throws IOException {
        Census nemotron = Census.of(config("nemotron-3-nano"));
        assertThat(nemotron.unknown().keySet()).containsExactly(Role.ATTENTION, Role.DENSE_MLP);
        assertThat(nemotron.unknown().get(Role.ATTENTION))
                .isEqualTo("the sizes of its tensors do not follow from the configuration");
        assertThat(nemotron.parameters()).isEmpty();
        assertThat(nemotron.activeWithEmbedding()).isEmpty();
        assertThat(nemotron.activeWithoutEmbedding()).isEmpty();
        assertThat(nemotron.counts()).containsKey(Role.ROUTED_EXPERTS);
        assertThat(Census.of(config("qwen3-next")).unknown().keySet()).containsExactly(Role.ATTENTION);
        assertThat(stored("nemotron-3-nano").parameters()).isPresent();
        assertThat(numbers(stored("nemotron-3-nano"), Role.DENSE_MLP)).containsExactly(2L * 24 * 15, 2L * 24 * 15);
    }
}
