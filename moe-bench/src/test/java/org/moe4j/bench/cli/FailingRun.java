package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.moe4j.bench.cli.RunFixture.Numbers;
import org.moe4j.bench.cli.RunFixture.Outcome;

/**
 * A run with a good checkpoint and a good input, of which a test spoils something: one line says what and where, the status is 1, and there
 * is no file.
 *
 * @param temporary folder for everything
 * @param input as the fixture has it
 * @param results folder of the output, empty
 * @param output that is not there yet
 */
record FailingRun(Path temporary, Path input, Path results, Path output) {
    static final String OLMOE = "olmoe";
    static final String GATE = "model.layers.1.mlp.gate.weight";

    static FailingRun in(Path temporary) throws IOException {
        Path results = Files.createDirectory(temporary.resolve("results"));
        Path input = RunFixture.write(temporary.resolve("input.safetensors"), tokens());
        return new FailingRun(temporary, input, results, results.resolve("output.safetensors"));
    }

    static Map<String, Numbers> tokens() throws IOException {
        RunFixture fixture = RunFixture.named(OLMOE);
        Map<String, Numbers> tensors = new HashMap<>();
        tensors.put("hidden_states", fixture.expected("hidden_states"));
        tensors.put("d_output", fixture.expected("d_output"));
        return tensors;
    }

    /** A checkpoint in a folder of its own, where it may be broken. */
    Path copy(String name) throws IOException {
        Path folder = Files.createDirectory(temporary.resolve(name));
        try (Stream<Path> files = Files.list(RunFixture.named(name).folder())) {
            for (Path file : files.toList()) {
                Files.copy(file, folder.resolve(file.getFileName().toString()));
            }
        }
        return folder;
    }

    void fails(String line, Path checkpoint, int layer, String... options) throws IOException {
        fails(line, RunFixture.run(checkpoint, layer, input, output, options));
    }

    void fails(String line, Outcome outcome) throws IOException {
        assertThat(outcome.err().lines())
                .singleElement()
                .asString()
                .startsWith("moe: ")
                .contains(line);
        assertThat(outcome.status()).isEqualTo(1);
        assertThat(outcome.out()).isEmpty();
        try (Stream<Path> files = Files.list(results)) {
            assertThat(files).isEmpty();
        }
    }
}
