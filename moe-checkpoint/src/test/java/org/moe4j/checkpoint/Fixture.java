package org.moe4j.checkpoint;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;

/** A miniature checkpoint and what one of its layers gives, both written by a script that knows nothing of this library. */
record Fixture(Path folder, JsonNode facts) {
    static Path root() {
        try {
            return Path.of(Objects.requireNonNull(Fixture.class.getResource("/fixtures"))
                    .toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    static List<String> names() {
        try (Stream<Path> folders = Files.list(root())) {
            return folders.map(folder -> folder.getFileName().toString())
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Fixture named(String name) throws IOException {
        Path folder = root().resolve(name);
        return new Fixture(
                folder, new ObjectMapper().readTree(folder.resolve("case.json").toFile()));
    }

    int layer() {
        return facts.get("layer").asInt();
    }

    /** Values of a tensor of the expected results. */
    double[] expected(String name) throws IOException {
        try (SafetensorsFile file = SafetensorsFile.open(folder.resolve("expected.safetensors"))) {
            return values(file, name);
        }
    }

    static double[] values(SafetensorsFile file, String name) throws IOException {
        double[] values = new double[(int) file.info(name).elements()];
        file.tensor(name).read(0, values, 0, values.length);
        return values;
    }
}
