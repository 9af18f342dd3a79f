package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.checkpoint.safetensors.RawFile.entry;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TensorStoreTest {
    @TempDir
    private Path folder;

    private void shard(String file, String tensor, int elements) throws IOException {
        String header = "{" + entry(tensor, "U8", "" + elements, 0, elements) + "}";
        Files.write(folder.resolve(file), RawFile.bytes(header, elements));
    }

    private void index(String weightMap) throws IOException {
        Files.writeString(
                folder.resolve("model.safetensors.index.json"),
                "{\"metadata\":{\"total_size\":9},\"weight_map\":" + weightMap + "}");
    }

    @Test
    void aSingleFileIsAStore() throws IOException {
        shard("model.safetensors", "a", 2);
        try (TensorStore store = TensorStore.open(folder)) {
            assertThat(store.folder()).isEqualTo(folder);
            assertThat(store.names()).containsExactly("a");
            assertThat(store.info("a").elements()).isEqualTo(2);
            assertThat(store.tensor("a").toString()).isEqualTo(folder.resolve("model.safetensors") + ": a U8 [2]");
        }
    }

    @Test
    void theIndexSaysWhichFileATensorIsIn() throws IOException {
        shard("one.safetensors", "a", 2);
        shard("two.safetensors", "b", 3);
        shard("stray.safetensors", "c", 1);
        index("{\"b\":\"two.safetensors\",\"a\":\"one.safetensors\"}");
        try (TensorStore store = TensorStore.open(folder)) {
            assertThat(store.names()).containsExactly("a", "b");
            assertThat(store.info("b").elements()).isEqualTo(3);
            assertThat(store.info("a").elements()).isEqualTo(2);
            assertThatThrownBy(() -> store.tensor("c"))
                    .isInstanceOf(NoSuchElementException.class)
                    .hasMessageStartingWith(folder + ": expected a tensor of this checkpoint but was c");
        }
    }

    @Test
    void aMissingShardIsFoundAtOnce() throws IOException {
        shard("one.safetensors", "a", 2);
        index("{\"b\":\"two.safetensors\",\"a\":\"one.safetensors\"}");
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessage(folder + ": expected two.safetensors, as model.safetensors.index.json says, but there is no"
                        + " such file");
    }

    @Test
    void aTensorThatItsShardLacksIsAnError() throws IOException {
        shard("one.safetensors", "a", 2);
        index("{\"b\":\"one.safetensors\",\"a\":\"one.safetensors\"}");
        try (TensorStore store = TensorStore.open(folder)) {
            assertThatThrownBy(() -> store.tensor("b"))
                    .isInstanceOf(SafetensorsFormatException.class)
                    .hasMessage(folder.resolve("one.safetensors")
                            + ": b: expected a tensor, as model.safetensors.index.json says but was absent");
        }
    }

    @Test
    void aFolderWithoutTensorsIsRefused() {
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessage(folder + ": expected model.safetensors or model.safetensors.index.json but found neither");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '\'', textBlock = """
                    {"a":"../one.safetensors"} | expected the name of a file beside it for a but was ../one.safetensors at line 1
                    {"a":".."}                 | expected the name of a file beside it for a but was .. at line 1
                    {"a":3}                    | expected a file name for a but was VALUE_NUMBER_INT at line 1
                    [1]                        | expected an object as weight_map but was START_ARRAY at line 1
                    {"a":"x","a":"y"}          | expected each tensor once, not a twice, but was y at line 1
                    """)
    void aBrokenIndexIsRefused(String weightMap, String message) throws IOException {
        index(weightMap);
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(SafetensorsFormatException.class)
                .hasMessageContaining(message);
    }

    @Test
    void anIndexWithoutAMapIsRefused() throws IOException {
        Files.writeString(folder.resolve("model.safetensors.index.json"), "{\"metadata\":{}}");
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(SafetensorsFormatException.class)
                .hasMessageContaining("expected an object weight_map but was END_OBJECT");
    }

    @Test
    void aTensorInTwoShardsIsRefused() throws IOException {
        shard("one.safetensors", "a", 2);
        String two = "{" + entry("a", "U8", "2", 0, 2) + "," + entry("b", "U8", "1", 2, 3) + "}";
        Files.write(folder.resolve("two.safetensors"), RawFile.bytes(two, 3));
        index("{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\"}");
        try (TensorStore store = TensorStore.open(folder)) {
            assertThat(store.info("a").elements()).isEqualTo(2);
            for (int i = 0; i < 2; i++) { // it stays refused
                assertThatThrownBy(() -> store.tensor("b"))
                        .isInstanceOf(SafetensorsFormatException.class)
                        .hasMessage(
                                folder.resolve("two.safetensors") + ": a: expected a tensor of one.safetensors alone,"
                                        + " as model.safetensors.index.json says, but was here too");
            }
        }
    }

    /** A hub's cache whose file was removed: nothing else takes its place, neither a single file nor the configuration's sums. */
    @ParameterizedTest
    @ValueSource(strings = {"model.safetensors", "model.safetensors.index.json"})
    void aLinkThatLeadsNowhereIsAMissingFile(String name) throws IOException {
        Files.createSymbolicLink(folder.resolve(name), folder.resolve("blob"));
        if (name.endsWith("json")) {
            shard("model.safetensors", "a", 2);
        }
        assertThat(TensorStore.isIn(folder)).isTrue();
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessage(folder.resolve(name) + ": expected a file but was a link that leads to none");
    }

    @Test
    void whatStandsBehindAnIndexIsRefused() throws IOException {
        shard("one.safetensors", "a", 2);
        Path file = folder.resolve("model.safetensors.index.json");
        Files.writeString(file, "{\"weight_map\":{\"a\":\"one.safetensors\"}} {}");
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(SafetensorsFormatException.class)
                .hasMessage(file + ": expected nothing after the object but was START_OBJECT at line 1");
    }

    @Test
    void anIndexThatIsNotUtf8IsRefused() throws IOException {
        Path file = folder.resolve("model.safetensors.index.json");
        Files.write(file, "{\"weight_map\":{\"a\":\"\u00e9\"}}".getBytes(StandardCharsets.ISO_8859_1));
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(SafetensorsFormatException.class)
                .hasMessage(file + ": expected UTF-8 but was malformed");
    }

    @Test
    void aClosedStoreIsRefused() throws IOException {
        shard("model.safetensors", "a", 2);
        TensorStore store = TensorStore.open(folder);
        store.close();
        assertThatThrownBy(() -> store.tensor("a")).isInstanceOf(IllegalStateException.class);
    }
}
