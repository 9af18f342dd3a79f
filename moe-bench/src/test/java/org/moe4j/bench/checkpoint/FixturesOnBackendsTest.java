package org.moe4j.bench.checkpoint;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.block.MoeBlock;
import org.moe4j.checkpoint.block.MoeBlockPass;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.core.vector.VectorBackend;

/** The miniature checkpoints of moe-checkpoint on the fast backends, in both precisions: every family read row by row into their memory. */
class FixturesOnBackendsTest {
    private static final Path FIXTURES = Path.of("..", "moe-checkpoint", "src", "test", "resources", "fixtures");

    @TempDir
    private Path folder;

    static List<Arguments> cases() {
        try (Stream<Path> folders = Files.list(FIXTURES)) {
            return folders.sorted()
                    .map(path -> path.getFileName().toString())
                    .flatMap(name -> Stream.of(
                            Arguments.of(name, VectorBackend.float32()),
                            Arguments.of(name, VectorBackend.float64()),
                            Arguments.of(name, Nd4jBackend.float32()),
                            Arguments.of(name, Nd4jBackend.float64())))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void aLayerAndItsBlockGiveWhatTheDefinitionGives(String name, Backend backend) throws IOException {
        boolean single = backend.unitRoundoff() == 0x1p-24;
        Path fixture = FIXTURES.resolve(name);
        JsonNode facts =
                new ObjectMapper().readTree(fixture.resolve("case.json").toFile());
        int index = facts.get("layer").asInt();
        int tokens = facts.get("tokens").asInt();
        Limits limits = new Limits(single ? 2e-6 : 1e-12);
        Path file = folder.resolve("gradients.safetensors");
        try (SafetensorsFile expected = SafetensorsFile.open(fixture.resolve("expected.safetensors"));
                MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture);
                MoeLayer layer = checkpoint.layer(index, backend);
                MoeBlock block = checkpoint.block(index, backend);
                Matrix x = matrix(backend, expected, "hidden_states", tokens);
                Matrix dY = matrix(backend, expected, "d_output", tokens);
                MoePass pass = layer.forward(x);
                Matrix output = pass.output();
                Gradients gradients = pass.backward(dY);
                MoeBlockPass blockPass = block.forward(x);
                Matrix blockOutput = blockPass.output()) {
            limits.require("output", output.toArray(), values(expected, "output"));
            limits.require("residual_output", blockOutput.toArray(), values(expected, "residual_output"));
            limits.require("d_hidden_states", gradients.input().toArray(), values(expected, "d_hidden_states"));
            SafetensorsWriter.write(
                    file, checkpoint.contents(index, "grad.", ElementType.F64, gradients.parameters()), Map.of());
            try (SafetensorsFile written = SafetensorsFile.open(file)) {
                for (String tensor : written.tensors().keySet()) {
                    limits.require(tensor, values(written, tensor), values(expected, tensor));
                }
            }
        }
    }

    /**
     * What an element may differ by.
     *
     * @param relative to the largest magnitude of its tensor
     */
    private record Limits(double relative) {
        void require(String tensor, double[] actual, double[] expected) {
            Tolerance.assertWithinMaxNorm(tensor, actual, expected, relative);
        }
    }

    private static Matrix matrix(Backend backend, SafetensorsFile file, String name, int tokens) throws IOException {
        double[] values = values(file, name);
        return backend.matrix(tokens, values.length / tokens, values);
    }

    private static double[] values(SafetensorsFile file, String name) throws IOException {
        double[] values = new double[(int) file.info(name).elements()];
        file.tensor(name).read(0, values, 0, values.length);
        return values;
    }
}
