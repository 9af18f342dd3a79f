package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.checkpoint.safetensors.RawFile.entry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
    void aClosedStoreIsRefused() throws IOException {
        shard("model.safetensors", "a", 2);
        TensorStore store = TensorStore.open(folder);
        store.close();
        assertThatThrownBy(() -> store.tensor("a")).isInstanceOf(IllegalStateException.class);
    }
}
