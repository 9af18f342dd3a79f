package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.checkpoint.Rewritten.assertKept;
import static org.moe4j.checkpoint.Rewritten.output;
import static org.moe4j.checkpoint.Rewritten.rewrite;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.RewriteOperation.StoreAs;
import org.moe4j.checkpoint.safetensors.ElementType;

/** Miniatures whose layers are stored in another type. */
class RewrittenTypesTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "mixtral",
                "qwen2-moe",
                "qwen3-moe",
                "qwen3-moe-v5-fused",
                "qwen3-next",
                "qwen3.5-moe",
                "olmoe",
                "deepseek-moe",
                "deepseek-v3-fp8",
                "gpt-oss-bf16",
                "gpt-oss-mxfp4",
                "gpt-oss-mxfp4-square",
                "olmo-hf"
            })
    void widerNumbersAreTheSame(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        Path out = folder.resolve("out");
        RewriteReport report = rewrite(fixture.folder(), out, new StoreAs(ElementType.F32));
        assertThat(report.rounding().rounded()).isZero();
        FixtureTest.assertNear(output(fixture, out), fixture.expected("output"));
        ObjectNode wanted = (ObjectNode)
                JSON.readTree(fixture.folder().resolve("config.json").toFile());
        wanted.remove("quantization_config");
        for (String key : List.of("torch_dtype", "dtype")) {
            if (wanted.has(key)) {
                wanted.put(key, "float32");
            }
            if (wanted.path("text_config").has(key)) {
                ((ObjectNode) wanted.get("text_config")).put(key, "float32");
            }
        }
        assertThat(JSON.readTree(out.resolve("config.json").toFile())).isEqualTo(wanted);
    }

    @Test
    void blocksOfEightBitsAreDecodedEverywhere() throws IOException {
        Fixture fixture = Fixture.named("deepseek-v3-fp8");
        Path out = folder.resolve("out");
        rewrite(fixture.folder(), out, new StoreAs(ElementType.BF16));
        Map<String, Folders.Bytes> after = Folders.tensors(out);
        assertThat(after.keySet()).noneMatch(name -> name.endsWith("_scale_inv"));
        assertThat(after.values()).noneMatch(tensor -> tensor.type().bytes() == 1);
        String name = "model.layers.0.self_attn.q_proj.weight";
        double scale = Folders.values(fixture.folder(), name + "_scale_inv")[0];
        double[] before = Folders.values(fixture.folder(), name);
        double[] decoded = Folders.values(out, name);
        for (int i = 0; i < before.length; i++) {
            assertThat(decoded[i]).isCloseTo(before[i] * scale, within(Math.abs(before[i] * scale) * 0x1p-8));
        }
        assertThat(after.get("model.layers.1.mlp.gate.e_score_correction_bias"))
                .isEqualTo(Folders.tensors(fixture.folder()).get("model.layers.1.mlp.gate.e_score_correction_bias"));
    }

    @Test
    void shardsStayTheFilesThatTheyWere() throws IOException {
        Fixture fixture = Fixture.named("qwen3-moe");
        Path out = folder.resolve("out");
        rewrite(fixture.folder(), out, new StoreAs(ElementType.F32));
        assertThat(Folders.files(out))
                .containsExactly(
                        "case.json",
                        "config.json",
                        "model-00001-of-00003.safetensors",
                        "model-00002-of-00003.safetensors",
                        "model-00003-of-00003.safetensors",
                        "model.safetensors.index.json");
        String index = "model.safetensors.index.json";
        assertThat(JSON.readTree(out.resolve(index).toFile()).get("weight_map"))
                .isEqualTo(
                        JSON.readTree(fixture.folder().resolve(index).toFile()).get("weight_map"));
        long bytes = Folders.tensors(out).values().stream()
                .mapToLong(tensor -> tensor.bytes().size())
                .sum();
        assertThat(JSON.readTree(out.resolve(index).toFile())
                        .at("/metadata/total_size")
                        .asLong())
                .isEqualTo(bytes);
    }

    /** Three files and two comparisons of each layer. */
    @Test
    void eachStepIsTold() throws IOException {
        AtomicInteger told = new AtomicInteger();
        try (MoeCheckpoint original =
                MoeCheckpoint.open(Fixture.named("qwen3-moe").folder())) {
            CheckpointRewrite.write(
                    original, List.of(new StoreAs(ElementType.F32)), folder.resolve("out"), told::incrementAndGet);
            assertThat(told).hasValue(3 + 2 * original.moeLayers().size()).hasValue(CheckpointRewrite.steps(original));
        }
    }

    @Test
    void narrowerNumbersAreReported() throws IOException {
        Fixture fixture = Fixture.named("deepseek-v2-lite");
        Path out = folder.resolve("out");
        RewriteReport report = rewrite(fixture.folder(), out, new StoreAs(ElementType.BF16));
        assertThat(report.rounding().largest()).isBetween(0x1p-11, 0x1p-8);
        assertThat(report.layers().get(0).computed()).isZero();
        assertThat(report.layers().get(0).stored()).isPositive();
        assertKept(fixture.folder(), out, "model\\.layers\\.1\\.mlp\\..*");
        assertThat(Files.readString(out.resolve("config.json")))
                .isEqualTo(Files.readString(fixture.folder().resolve("config.json")));
    }
}
