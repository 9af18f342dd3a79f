package org.moe4j.checkpoint.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.NoSuchElementException;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.checkpoint.config.ModelConfig;

class LayoutTest {
    private static final String HEAD = """
            family = Ours
            modelTypes = ours
            source = here
            prefixes = model.
            covers = {prefix}{layer}.
            layers.count = layers
            """;

    @TempDir
    private Path folder;

    private Layout load(String lines) throws IOException {
        return Layout.load(Files.writeString(folder.resolve("ours.properties"), lines));
    }

    static Iterable<String> names() {
        return Layout.names();
    }

    @ParameterizedTest
    @MethodSource("names")
    void everyLayoutOfTheLibraryIsReadAndHasARouterAndExperts(String name) {
        Layout layout = Layout.named(name);
        assertThat(layout.modelTypes()).isNotEmpty();
        assertThat(layout.tensors(LayerPart.ROUTER_WEIGHT)).isNotEmpty();
        assertThat(layout.tensors(LayerPart.UP)).isNotEmpty();
        assertThat(layout.tensors(LayerPart.DOWN)).isNotEmpty();
        assertThat(layout).hasToString("Layout[" + name + "]");
    }

    @Test
    void aLayoutOfAUserIsReadFromItsFile() throws IOException {
        Layout layout = load(HEAD + "experts.count = n | 4\nblock.norm.epsilon = eps | 0.5\n"
                + "tensors.block.normBefore = {prefix}{layer}.norm [D]\n");
        ModelConfig config = ModelConfig.parse("c", "{\"layers\": 2}");
        assertThat(layout.id()).isEqualTo("ours");
        assertThat(layout.family()).isEqualTo("Ours");
        assertThat(layout.moeLayers(config)).containsExactly(0, 1);
        assertThat(layout.norms(config)).isEqualTo(new BlockNorms(Set.of(LayerPart.NORM_BEFORE), 0.5, 0));
        assertThat(layout.preset(config).section("experts").integer("count")).isEqualTo(4);
    }

    @Test
    void anUnknownNameIsRefusedWithTheClosest() {
        assertThatThrownBy(() -> Layout.named("qwen3-mo"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessageStartingWith("layout: expected one of [mixtral, ")
                .hasMessageEndingWith("] but was qwen3-mo; did you mean qwen3-moe?");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '>',
            value = {
                "expert.count = n > expert.count: expected a key of a layout but was expert.count",
                "tensors.expert.up = a [F] > tensors.expert.up: expected the name of a part after tensors. but was tensors.expert.up",
                "tensors.experts.up = a > tensors.experts.up: tensor: expected name [axes], and scaled-by name or mxfp4 name but was a",
                "tensors.experts.up = a [F, X] > tensors.experts.up: axis: expected a letter of [E, D, L, F, S, 1], or as 2F.first but was X",
                "experts.count = a b > experts.count: rule: expected names of keys but was a b",
                "check.act = silu > check.act: expected rule = value; other value but was silu",
                "family = Twice > expected each key once but was family twice",
            })
    void aLineThatIsNotInTheNotationIsNamed(String line, String message) {
        assertThatThrownBy(() -> load(HEAD + line.trim() + "\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("layout ours: " + message.trim());
    }

    @Test
    void aMissingLineIsNamed() {
        assertThatThrownBy(() -> load("family = Ours\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("layout ours: modelTypes: expected a line but was absent");
    }

    @Test
    void otherBytesThanUtf8AreRefused() throws IOException {
        Path file = Files.write(
                folder.resolve("latin.properties"), "family = Gr\u00fc\u00dfe".getBytes(StandardCharsets.ISO_8859_1));
        assertThatThrownBy(() -> Layout.load(file))
                .isInstanceOf(IOException.class)
                .hasMessage(file + ": expected UTF-8 text but was something else");
    }
}
