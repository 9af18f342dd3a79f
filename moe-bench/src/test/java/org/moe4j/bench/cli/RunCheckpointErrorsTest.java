package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.moe4j.bench.cli.FailingRun.GATE;
import static org.moe4j.bench.cli.FailingRun.OLMOE;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.bench.cli.RunFixture.Numbers;
import org.moe4j.checkpoint.safetensors.ElementType;

/** What may be wrong with a checkpoint, through {@code moe run}. */
final class RunCheckpointErrorsTest {
    @TempDir
    private Path temporary;

    private FailingRun run;

    @BeforeEach
    void files() throws IOException {
        run = FailingRun.in(temporary);
    }

    private Path with(String tensor, Numbers numbers) throws IOException {
        Path folder = run.copy(OLMOE);
        Path file = folder.resolve("model.safetensors");
        Map<String, Numbers> tensors = RunFixture.read(file);
        assertThat(tensors.put(tensor, numbers)).isNotNull();
        RunFixture.write(file, tensors);
        return folder;
    }

    private static Numbers gate() throws IOException {
        return RunFixture.read(RunFixture.named(OLMOE).folder().resolve("model.safetensors"))
                .get(GATE);
    }

    @Test
    void aFolderWithoutConfig() throws IOException {
        run.fails(temporary + ": expected a config.json but found none", temporary, 1);
    }

    @Test
    void noFolder() throws IOException {
        run.fails(temporary.resolve("nowhere") + ": expected", temporary.resolve("nowhere"), 1);
    }

    @Test
    void aMissingShard() throws IOException {
        Path folder = run.copy("qwen3-moe");
        String shard = "model-00002-of-00003.safetensors";
        Files.delete(folder.resolve(shard));
        run.fails(folder + ": expected " + shard, folder, 1);
    }

    @Test
    void aTruncatedFile() throws IOException {
        Path folder = run.copy(OLMOE);
        Path file = folder.resolve("model.safetensors");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(channel.size() - 100);
        }
        run.fails(file + ": ", folder, 1);
    }

    @Test
    void aWrongShape() throws IOException {
        Numbers gate = gate();
        Path folder = with(GATE, gate.rows(1, gate.rows()));
        run.fails(folder + ": ", folder, 1);
        run.fails(GATE + ": expected shape [", folder, 1);
    }

    @Test
    void aWeightThatIsNotFinite() throws IOException {
        Numbers gate = gate();
        gate.values()[7] = Double.NaN;
        Path folder = with(GATE, gate);
        for (String backend : List.of("nd4j", "reference")) {
            run.fails(
                    GATE + ": expected finite numbers but number 7 is NaN",
                    folder,
                    1,
                    "--backend",
                    backend,
                    "--residual");
        }
    }

    @Test
    void aTypeThatIsNotKnown() throws IOException {
        Path folder = run.copy(OLMOE);
        Path file = folder.resolve("model.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        int at = text.indexOf("BF16", text.indexOf('"' + GATE + '"'));
        bytes[at] = 'Q';
        Files.write(file, bytes);
        run.fails("QF16", folder, 1);
    }

    @Test
    void wholeNumbersAsWeights() throws IOException {
        Numbers gate = gate();
        run.fails(GATE + ": expected", with(GATE, gate.as(ElementType.I32)), 1);
    }

    /** As in a hub's cache: the checkpoint's files are links, and what they lead to is elsewhere. */
    @Test
    void aCheckpointOfLinksIsNotWrittenOver() throws IOException {
        Path blobs = run.copy(OLMOE);
        Path snapshot = Files.createDirectory(temporary.resolve("snapshot"));
        for (String name : List.of("config.json", "model.safetensors")) {
            Files.createSymbolicLink(snapshot.resolve(name), blobs.resolve(name));
        }
        Path nowhere = Files.createSymbolicLink(snapshot.resolve("nowhere"), temporary.resolve("none"));
        byte[] weights = Files.readAllBytes(blobs.resolve("model.safetensors"));
        for (Path output :
                List.of(snapshot.resolve("model.safetensors"), blobs.resolve("model.safetensors"), nowhere)) {
            run.fails(
                    "--output: expected a file that is not in the checkpoint yet but was " + output,
                    RunFixture.run(snapshot, 1, run.input(), output));
            assertThat(snapshot.resolve("model.safetensors")).isSymbolicLink();
            assertThat(nowhere).isSymbolicLink();
            assertThat(blobs.resolve("model.safetensors")).hasBinaryContent(weights);
        }
    }

    @Test
    void aDenseLayer() throws IOException {
        run.fails(
                "layer: expected an MoE layer, one of [1], but was 0",
                RunFixture.named("deepseek-moe").folder(),
                0);
    }

    @Test
    void aLayerThatIsNotThere() throws IOException {
        Path folder = RunFixture.named(OLMOE).folder();
        run.fails(folder + ": layer: expected an MoE layer, one of [0, 1], but was 2", folder, 2);
        run.fails("but was -1", folder, -1);
    }
}
