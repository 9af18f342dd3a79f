package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;

/** Layers saved in the layout of their family. */
class CheckpointWriterTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    @TempDir
    private Path folder;

    /** A layer whose numbers are all others: their negatives, thirds for every second matrix. */
    private static Parameters changed(MoeLayer layer) {
        Map<String, Matrix> changed = new LinkedHashMap<>();
        try (Parameters all = layer.parameters()) {
            int count = 0;
            for (String name : all.names()) {
                Matrix matrix = all.get(name);
                double[] values = matrix.toArray();
                for (int i = 0; i < values.length; i++) {
                    values[i] = count % 2 == 0 ? -values[i] : values[i] / 3;
                }
                changed.put(name, BACKEND.matrix(matrix.rows(), matrix.columns(), values));
                count++;
            }
        }
        return Parameters.of(changed);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "mixtral",
                "mixtral-v5-fused-square",
                "qwen2-moe",
                "qwen3-moe",
                "qwen3.5-moe",
                "deepseek-v3",
                "deepseek-v3-v5-fused",
                "nemotron-3-latent",
                "gpt-oss-bf16",
                "gpt-oss-bf16-square",
                "olmo-hf"
            })
    void aChangedLayerIsReadBackBitForBit(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        Path out = folder.resolve("out");
        try (MoeCheckpoint original = MoeCheckpoint.open(fixture.folder());
                MoeLayer layer = original.layer(fixture.layer(), BACKEND);
                Parameters others = changed(layer);
                MoeLayer other = layer.withParameters(others)) {
            CheckpointWriter.save(
                    original, original.config(), original.contents(fixture.layer(), ElementType.F64, other), out);
            try (MoeCheckpoint saved = MoeCheckpoint.open(out);
                    MoeLayer read = saved.layer(fixture.layer(), BACKEND);
                    Parameters parameters = read.parameters()) {
                assertThat(parameters.names()).isEqualTo(others.names());
                for (String parameter : parameters.names()) {
                    assertThat(parameters.get(parameter).toArray())
                            .isEqualTo(others.get(parameter).toArray());
                }
                assertThat(((TopKRouter) read.router()).selectionBias())
                        .isEqualTo(((TopKRouter) layer.router()).selectionBias());
            }
        }
        assertThat(Files.readString(out.resolve("config.json")))
                .isEqualTo(Files.readString(fixture.folder().resolve("config.json")));
    }

    /** What was read and is written in its own type has the bytes that it had. */
    @ParameterizedTest
    @CsvSource({"mixtral, BF16", "qwen3-moe-v5-fused, F16", "qwen3.5-moe, BF16", "deepseek-v3-v5-fused, F32"})
    void anUnchangedLayerHasItsBytes(String name, ElementType type) throws IOException {
        Fixture fixture = Fixture.named(name);
        Path out = folder.resolve("out");
        try (MoeCheckpoint original = MoeCheckpoint.open(fixture.folder());
                MoeLayer layer = original.layer(fixture.layer(), BACKEND)) {
            List<TensorContent> contents = original.contents(fixture.layer(), type, layer);
            assertThat(contents).isNotEmpty();
            CheckpointWriter.save(original, original.config(), contents, out);
        }
        assertThat(Folders.tensors(out)).isEqualTo(Folders.tensors(fixture.folder()));
    }

    @Test
    void aChangedBiasAndAChangedSettingAreSaved() throws IOException {
        Fixture fixture = Fixture.named("kimi-k2");
        Path out = folder.resolve("out");
        SelectionBias bias = SelectionBias.of(new double[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9.5});
        try (MoeCheckpoint original = MoeCheckpoint.open(fixture.folder());
                MoeLayer layer = original.layer(fixture.layer(), BACKEND);
                TopKRouter router = ((TopKRouter) layer.router()).withSelectionBias(bias)) {
            ModelConfig config = original.config().with("routed_scaling_factor", "3.5");
            List<TensorContent> contents =
                    original.contents(fixture.layer(), ElementType.F32, layer.withRouter(router));
            CheckpointWriter.save(original, config, contents, out);
        }
        try (MoeCheckpoint saved = MoeCheckpoint.open(out);
                MoeLayer layer = saved.layer(fixture.layer(), BACKEND)) {
            assertThat(((TopKRouter) layer.router()).selectionBias()).contains(bias);
            assertThat(layer.router().scale()).isEqualTo(3.5);
        }
    }

    @Test
    void tensorsThatTheOriginalDoesNotHaveAreRefused() throws IOException {
        for (String name : List.of("deepseek-v3-fp8", "gpt-oss-mxfp4")) {
            Fixture fixture = Fixture.named(name);
            try (MoeCheckpoint original = MoeCheckpoint.open(fixture.folder());
                    MoeLayer layer = original.layer(fixture.layer(), BACKEND)) {
                List<TensorContent> contents =
                        new ArrayList<>(original.contents(fixture.layer(), ElementType.F32, layer));
                assertThatThrownBy(() ->
                                CheckpointWriter.save(original, original.config(), contents, folder.resolve("out")))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageStartingWith("changed: expected tensors that " + fixture.folder()
                                + " has in at least 16 bits but was model.layers.")
                        .hasMessageEndingWith("; rewrite it with dtype first");
            }
        }
        assertThat(Folders.files(folder)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"qwen2-moe", "deepseek-v3", "nemotron-3-latent", "gpt-oss-mxfp4", "olmo-hf-sigmoid", "olmoe"})
    void aLayerThatIsNotHeldGivesTheSame(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        double[] tokens = fixture.expected("hidden_states");
        int count = fixture.facts().get("tokens").asInt();
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture.folder());
                Matrix x = BACKEND.matrix(count, tokens.length / count, tokens);
                Matrix output = checkpoint.output(fixture.layer(), x)) {
            FixtureTest.assertNear(output.toArray(), fixture.expected("output"));
        }
    }

    @Test
    void aFileOutOfPlaceLeavesNothingBehind() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        try (MoeCheckpoint original = MoeCheckpoint.open(Fixture.root().resolve("olmoe"))) {
            assertThatThrownBy(() -> CheckpointWriter.save(original, original.config(), List.of(), file.resolve("out")))
                    .isInstanceOf(IOException.class)
                    .hasMessage(file.resolve("out") + ": expected a folder that can be written but was none"
                            + " (FileAlreadyExistsException: " + file + ")");
            assertThatThrownBy(() -> CheckpointWriter.write(
                            original,
                            original.config(),
                            name -> List.of(TensorContent.of(original.store().tensor(name))),
                            folder.resolve("out"),
                            () -> {},
                            written -> {
                                assertThat(Folders.files(written)).contains("config.json", "model.safetensors");
                                throw new IOException("no");
                            }))
                    .isInstanceOf(IOException.class)
                    .hasMessage("no");
        }
        assertThat(Folders.files(folder)).containsExactly("file");
    }

    private static void copy(MoeCheckpoint original, Path out, CheckpointWriter.Check check) throws IOException {
        CheckpointWriter.write(
                original,
                original.config(),
                name -> List.of(TensorContent.of(original.store().tensor(name))),
                out,
                () -> {},
                check);
    }

    @Test
    void whatAnotherPutIntoTheFolderMeanwhileStays() throws IOException {
        Path out = folder.resolve("out");
        try (MoeCheckpoint original = MoeCheckpoint.open(Fixture.root().resolve("olmoe"))) {
            assertThatThrownBy(() -> copy(
                            original,
                            out,
                            written ->
                                    Files.createFile(Files.createDirectory(out).resolve("theirs"))))
                    .isInstanceOf(IOException.class)
                    .hasMessage(
                            out + ": expected an empty folder, or one that is not there yet, but files were put into"
                                    + " it meanwhile");
        }
        assertThat(Folders.files(folder)).containsExactly("out");
        assertThat(Folders.files(out)).containsExactly("theirs");
    }

    /** The name of the file while it is written is longer than file systems allow; a full disk is told in the same way. */
    @Test
    void aFileThatCannotBeWrittenIsToldWithItsFolder() throws IOException {
        Path olmoe = Fixture.root().resolve("olmoe");
        Path source = Files.createDirectory(folder.resolve("source"));
        Files.copy(olmoe.resolve("config.json"), source.resolve("config.json"));
        String shard = "s".repeat(240);
        Files.copy(olmoe.resolve("model.safetensors"), source.resolve(shard));
        ObjectNode index = new ObjectMapper().createObjectNode();
        ObjectNode map = index.putObject("weight_map");
        try (MoeCheckpoint original = MoeCheckpoint.open(olmoe)) {
            original.store().names().forEach(name -> map.put(name, shard));
        }
        Files.writeString(source.resolve("model.safetensors.index.json"), index.toString());
        Path out = folder.resolve("out");
        try (MoeCheckpoint original = MoeCheckpoint.open(source)) {
            assertThatThrownBy(() -> copy(original, out, written -> {}))
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith(out + ": expected a folder that takes all files but was another (");
        }
        assertThat(Folders.files(folder)).containsExactly("source");
    }
}
