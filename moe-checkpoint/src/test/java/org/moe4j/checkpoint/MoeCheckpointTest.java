package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;

class MoeCheckpointTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    @TempDir
    private Path folder;

    static List<String> names() {
        return Fixture.names();
    }

    @ParameterizedTest
    @MethodSource("names")
    void moeLayersAreThoseOfTheCase(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        List<Integer> expected = new ArrayList<>();
        fixture.facts().get("moe_layers").forEach(layer -> expected.add(layer.asInt()));
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture.folder())) {
            assertThat(checkpoint.moeLayers()).containsExactlyElementsOf(expected);
            assertThat(checkpoint.folder()).isEqualTo(fixture.folder());
            assertThat(checkpoint.config().name()).endsWith("config.json");
        }
    }

    /** With more than ten experts the order of names is not the order of numbers. */
    @ParameterizedTest
    @ValueSource(strings = {"deepseek-v3", "gpt-oss-mxfp4", "nemotron-3-latent"})
    void oneExpertIsThatOfTheLayer(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        int experts = fixture.facts().get("experts").asInt();
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture.folder());
                MoeLayer layer = checkpoint.layer(fixture.layer(), BACKEND);
                Parameters all = layer.parameters()) {
            for (int e = 0; e < experts; e++) {
                Parameters expected = all.under("experts." + e);
                try (Parameters expert = checkpoint.expert(fixture.layer(), e, BACKEND)) {
                    assertThat(expert.names()).containsExactlyElementsOf(expected.names());
                    for (String part : expert.names()) {
                        assertThat(expert.get(part).toArray())
                                .isEqualTo(expected.get(part).toArray());
                    }
                }
            }
        }
    }

    /** Another expert's number that is not finite is not looked at. */
    @Test
    void oneExpertIsReadAlone() throws IOException {
        ChangedFixture changed = ChangedFixture.of("olmoe");
        long inner = changed.config().get("intermediate_size").asLong();
        long width = changed.config().get("hidden_size").asLong();
        changed.with("model.layers.1.mlp.experts.3.up_proj.weight", Float.NaN, inner, width)
                .write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder)) {
            try (Parameters expert = checkpoint.expert(1, 2, BACKEND)) {
                assertThat(expert.names()).containsExactly("gate", "up", "down");
            }
            assertThatThrownBy(() -> checkpoint.expert(1, 3, BACKEND)).hasMessageContaining("experts.3.up_proj.weight");
        }
    }

    /** A family of which the library knows nothing: its layout is a file of the user. */
    @Test
    void aLayoutOfAUserOpensAnyModel() throws IOException {
        ChangedFixture.of("olmoe")
                .config(config -> config.put("model_type", "mine"))
                .write(folder);
        assertThatThrownBy(() -> MoeCheckpoint.open(folder)).hasMessageContaining("model_type: expected one of [");
        try (InputStream olmoe =
                Objects.requireNonNull(Layout.class.getResourceAsStream("/moe/layout/olmoe.properties"))) {
            String lines = new String(olmoe.readAllBytes(), StandardCharsets.UTF_8);
            Path file = Files.writeString(
                    folder.resolve("mine.properties"), lines.replace("modelTypes = olmoe", "modelTypes = mine"));
            try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder, Layout.load(file));
                    MoeLayer layer = checkpoint.layer(1, BACKEND)) {
                assertThat(layer.router().experts()).isEqualTo(8);
                assertThat(checkpoint).hasToString("MoeCheckpoint[" + folder + ", mine]");
            }
        }
    }

    /** Neither constant nor factor: weights as they come, and a shared expert beside them. */
    @Test
    void defaultsOfOlmoAreThoseOfItsClass() throws IOException {
        ChangedFixture.of("olmo-hf")
                .config(config -> {
                    config.putNull("normalize_expert_weights");
                    config.put("restore_weight_scale", false);
                })
                .write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                MoeLayer layer = checkpoint.layer(1, BACKEND)) {
            assertThat(checkpoint.preset().section("router").text("renormalization", ""))
                    .isEqualTo("none");
            assertThat(checkpoint.preset().section("merge").text("convention", ""))
                    .isEqualTo("sum");
            assertThat(layer.shared()).isPresent();
        }
        ChangedFixture.of("olmo-hf")
                .config(config -> {
                    config.remove("normalize_expert_weights");
                    config.remove("restore_weight_scale");
                })
                .write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder)) {
            assertThat(checkpoint.preset().section("router").text("renormalization", ""))
                    .isEqualTo("sum");
            assertThat(checkpoint.preset().section("merge").decimal("routedScale", 0))
                    .isEqualTo(checkpoint.preset().section("router").integer("topK"));
        }
    }

    /** Newer configurations of Nemotron leave the number of layers to the list of their kinds, which counts before the letters. */
    @Test
    void layersAreAsManyAsTheirKinds() throws IOException {
        ChangedFixture.of("nemotron-3-nano")
                .config(config -> {
                    config.remove("num_hidden_layers");
                    config.putArray("layers_block_type")
                            .add("full_attention")
                            .add("moe")
                            .add("linear_attention");
                })
                .write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder)) {
            assertThat(checkpoint.moeLayers()).containsExactly(1);
        }
    }

    /** A model that is all default is the released one of its class. */
    @Test
    void defaultsOfDeepSeekV3AreThoseOfItsClass() throws IOException {
        ModelConfig config = ModelConfig.parse("config.json", "{\"model_type\": \"deepseek_v3\"}");
        Layout layout = Layout.of(config);
        assertThat(layout.moeLayers(config)).hasSize(58).startsWith(3);
        assertThat(ExpertShape.routed(layout.preset(config)))
                .isEqualTo(ExpertShape.routed(Preset.named("deepseek-v3")));
        assertThat(ExpertShape.shared(layout.preset(config)))
                .isEqualTo(ExpertShape.shared(Preset.named("deepseek-v3")));
        ModelConfig alone =
                ModelConfig.parse("config.json", "{\"model_type\": \"deepseek_v3\", \"n_shared_experts\": null}");
        assertThat(ExpertShape.shared(Layout.of(alone).preset(alone))).isEmpty();
    }

    /** As the family's gate has it: a single weight is no part of a sum, and stays the softmax that it is. */
    @Test
    void theWeightOfASingleExpertOfDeepSeekMoeIsNotRenormalized() throws IOException {
        Fixture fixture = Fixture.named("deepseek-moe");
        ChangedFixture.of("deepseek-moe")
                .config(config -> config.put("num_experts_per_tok", 1).put("norm_topk_prob", true))
                .write(folder);
        double[] tokens = fixture.expected("hidden_states");
        double[] logits = fixture.expected("router_logits");
        int rows = fixture.facts().get("tokens").asInt();
        int experts = logits.length / rows;
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                MoeLayer layer = checkpoint.layer(fixture.layer(), BACKEND);
                Matrix x = BACKEND.matrix(rows, tokens.length / rows, tokens);
                MoePass pass = layer.forward(x)) {
            for (int t = 0; t < rows; t++) {
                double[] row = Arrays.copyOfRange(logits, t * experts, (t + 1) * experts);
                double largest = Arrays.stream(row).max().orElseThrow();
                double sum = Arrays.stream(row).map(z -> Math.exp(z - largest)).sum();
                assertThat(pass.coefficients().routed(t, 0)).isCloseTo(1 / sum, within(1e-14));
            }
        }
    }

    /** Without a number of groups there are none: as with one group, every expert may be selected. */
    @ParameterizedTest
    @ValueSource(strings = {"kimi-k2", "nemotron-3-nano"})
    void groupsThatAreNullAreNone(String name) throws IOException {
        ChangedFixture.of(name)
                .config(config -> config.putNull("n_group").putNull("topk_group"))
                .write(folder);
        Fixture fixture = Fixture.named(name);
        double[] tokens = fixture.expected("hidden_states");
        int rows = fixture.facts().get("tokens").asInt();
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                MoeLayer layer = checkpoint.layer(fixture.layer(), BACKEND);
                Matrix x = BACKEND.matrix(rows, tokens.length / rows, tokens);
                MoePass pass = layer.forward(x);
                Matrix output = pass.output()) {
            FixtureTest.assertNear(output.toArray(), fixture.expected("output"));
        }
    }

    /** Releases of Qwen in FP8: one scale, here of 16 bits, for each block of 128 × 128. 0x38 is 1, 0xC4 is −3. */
    @ParameterizedTest
    @ValueSource(strings = {"qwen2-moe", "qwen3-next"})
    void eightBitsAreReadWhereverExpertsStandAlone(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        String up = "model.layers." + fixture.layer() + ".mlp.experts.1.up_proj.weight";
        ChangedFixture changed = ChangedFixture.of(name);
        int inner = changed.config().get("moe_intermediate_size").asInt();
        int width = changed.config().get("hidden_size").asInt();
        byte[] bytes = new byte[inner * width];
        Arrays.fill(bytes, (byte) 0x38);
        bytes[1] = (byte) 0xC4;
        changed.with(up, ElementType.F8_E4M3, List.of((long) inner, (long) width), bytes);
        changed.with(up + "_scale_inv", ElementType.BF16, List.of(1L, 1L), new byte[] {0, 0x3F});
        changed.write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                Parameters expert = checkpoint.expert(fixture.layer(), 1, BACKEND)) {
            double[] expected = new double[inner * width];
            Arrays.fill(expected, 0.5);
            expected[1] = -1.5;
            assertThat(expert.get("up").toArray()).isEqualTo(expected);
        }
    }
}
