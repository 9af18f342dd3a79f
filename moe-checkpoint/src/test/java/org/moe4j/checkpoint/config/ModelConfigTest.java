package org.moe4j.checkpoint.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelConfigTest {
    @TempDir
    private Path folder;

    @Test
    void theTextModelComesFirst() throws IOException {
        ModelConfig config = ModelConfig.parse(
                "c",
                "{\"model_type\": \"outer\", \"tie\": true, \"text_config\": {\"model_type\": \"inner\", \"n\": 2}}");
        assertThat(config.text("model_type")).contains("inner");
        assertThat(config.text("n")).contains("2");
        assertThat(config.text("tie")).contains("true");
        assertThat(config.text("x.y")).isEmpty();
    }

    @Test
    void aFileOrItsFolderIsRead() throws IOException {
        Path file = Files.writeString(folder.resolve("config.json"), "{\"a\": 1}");
        assertThat(ModelConfig.read(folder).text("a")).contains("1");
        assertThat(ModelConfig.read(file).name()).isEqualTo(file.toString());
        assertThat(ModelConfig.read(file)).hasToString("ModelConfig[" + file + "]");
    }

    @Test
    void aMissingFileIsNamed() {
        assertThatThrownBy(() -> ModelConfig.read(folder))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessage(folder + ": expected a config.json but found none");
    }

    @Test
    void aHugeFileIsNotRead() throws IOException {
        Path file = folder.resolve("config.json");
        Files.write(file, new byte[(4 << 20) + 1]);
        assertThatThrownBy(() -> ModelConfig.read(folder))
                .isInstanceOf(IOException.class)
                .hasMessage(file + ": expected at most 4 MiB but was 4194305 bytes");
    }

    @Test
    void whatStandsBehindTheObjectIsRefused() {
        for (String text : new String[] {"{\"a\": 1} x", "{\"a\": 1}{\"a\": 2}", "{}}"}) {
            assertThatThrownBy(() -> ModelConfig.parse("c", text))
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith("c: expected JSON but was broken (");
        }
    }

    @Test
    void whatIsNoObjectIsRefused() {
        assertThatThrownBy(() -> ModelConfig.parse("c", "[1]"))
                .isInstanceOf(IOException.class)
                .hasMessage("c: expected a JSON object but was something else");
        assertThatThrownBy(() -> ModelConfig.parse("c", " "))
                .isInstanceOf(IOException.class)
                .hasMessage("c: expected a JSON object but was empty");
        assertThatThrownBy(() -> ModelConfig.parse("c", "{\"a\": 1, \"a\": 2}"))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("c: expected JSON but was broken (");
    }
}
