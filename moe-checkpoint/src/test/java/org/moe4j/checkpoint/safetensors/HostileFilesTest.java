package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.checkpoint.safetensors.RawFile.entry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.ChildJvm;

/** What stands in the place of a file but is none, and files that are cut off. */
class HostileFilesTest {
    @TempDir
    private Path folder;

    private static String header() {
        return "{\"__metadata__\":{\"a\":\"b\"}," + entry("a", "F32", "2", 0, 8) + "," + entry("b", "U8", "3", 8, 11)
                + "}";
    }

    @Test
    void aFileCutOffAtAnyByteIsRefused() throws IOException {
        byte[] whole = RawFile.bytes(header(), 11);
        for (int length = 0; length < whole.length; length++) {
            Path file = RawFile.write(folder, Arrays.copyOf(whole, length));
            assertThatThrownBy(() -> SafetensorsFile.open(file).close())
                    .as("%d bytes", length)
                    .isInstanceOf(SafetensorsFormatException.class);
        }
    }

    /** A byte that another one replaces may make another right file; anything else is refused. */
    @Test
    void aByteThatIsAnotherIsReadOrRefused() throws IOException {
        byte[] whole = RawFile.bytes(header(), 11);
        int refused = 0;
        for (int at = 0; at < whole.length - 11; at++) {
            for (int value : new int[] {0, ' ', '"', '{', '}', '0', '9', ',', 0x80, 0xc0, 0xef, 0xff}) {
                byte[] changed = whole.clone();
                changed[at] = (byte) value;
                Path file = RawFile.write(folder, changed);
                try {
                    SafetensorsFile.open(file).close();
                } catch (SafetensorsFormatException e) {
                    assertThat(e).hasMessageStartingWith(file + ": ");
                    refused++;
                }
            }
        }
        assertThat(refused).isGreaterThan(500);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
                    {"\\ud800":{}}                               | header: expected JSON but was broken
                    {"__metadata__":{"a":"\\udfff"}}             | ?: expected names and texts without half a character but was VALUE_STRING at character 21
                    {"a":NaN}                                    | header: expected JSON but was broken
                    \ufeff{}                                     | header: expected a JSON object that begins at once but was something else
                    {"a":{"dtype":"F32","dtype":"F32"}}          | header: expected JSON but was broken
                    {"a":{"shape":[1e3]}}                        | a: expected whole numbers from 0 to 2^63 - 1 in shape
                    {"a":{"shape":[99999999999999999999999]}}    | header: expected JSON but was broken
                    {"a":{"shape":[[1]]}}                        | a: expected whole numbers from 0 to 2^63 - 1 in shape
                    {"a":{"data_offsets":[0,1,2]}}               | a: expected at most 2 numbers in data_offsets
                    {"a":{"dtype":null}}                         | a: expected text as dtype but was VALUE_NULL at character 14
                    {"__metadata__":{"a":{"b":{}}}}              | __metadata__: expected text as value of a but was START_OBJECT
                    {"__metadata__":{},"__metadata__":{}}        | header: expected JSON but was broken
                    {/* */}                                      | header: expected JSON but was broken
                    {}{}                                         | header: expected only blanks after its last brace but was more at character 2
                    """)
    void aHeaderOfOddTextIsRefused(String header, String message) throws IOException {
        Path file = RawFile.write(folder, RawFile.bytes(header, 0));
        assertThatThrownBy(() -> SafetensorsFile.open(file).close())
                .isInstanceOf(SafetensorsFormatException.class)
                .hasMessageStartingWith(file + ": " + message);
    }

    @Test
    void namesOfManyBytesAreNames() throws IOException {
        String name = "é𝄞".repeat(10_000);
        Path file = RawFile.write(folder, RawFile.bytes("{" + entry(name, "U8", "1", 0, 1) + "}", 1));
        try (SafetensorsFile opened = SafetensorsFile.open(file)) {
            assertThat(opened.tensors()).containsOnlyKeys(name);
        }
    }

    @ParameterizedTest
    @CsvSource({"../x", "..", "/etc/passwd", "a/b", "a\\b", "''", "a\\u0000b", "a\\ud800"})
    void anIndexThatLeadsElsewhereIsRefused(String file) throws IOException {
        String escaped = file.startsWith("a\\u") ? file : file.replace("\\", "\\\\");
        Files.writeString(
                folder.resolve("model.safetensors.index.json"), "{\"weight_map\":{\"t\":\"" + escaped + "\"}}");
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(SafetensorsFormatException.class)
                .hasMessageContaining("expected the name of a file beside it for t but was ");
    }

    @Test
    void anIndexThatIsBrokenIsRefused() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        Files.write(index, new byte[] {'{', '"', (byte) 0xff, '"', ':', '1', '}'});
        assertThatThrownBy(() -> TensorStore.open(folder)).isInstanceOf(SafetensorsFormatException.class);
        Files.writeString(index, "{\"weight_map\":{},\"weight_map\":{}}");
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(SafetensorsFormatException.class)
                .hasMessage(index + ": expected one weight_map but was START_OBJECT at line 1");
        Files.writeString(index, "{\"a\":" + "[".repeat(100_000));
        assertThatThrownBy(() -> TensorStore.open(folder)).isInstanceOf(SafetensorsFormatException.class);
    }

    @Test
    void aFolderInThePlaceOfAFileIsRefused() throws IOException {
        Path file = Files.createDirectory(folder.resolve("model.safetensors"));
        String message = file + ": expected a file but was a folder";
        assertThatThrownBy(() -> SafetensorsFile.open(file))
                .isInstanceOf(IOException.class)
                .hasMessage(message);
        assertThatThrownBy(() -> TensorStore.open(folder))
                .isInstanceOf(IOException.class)
                .hasMessage(message);
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void aPipeIsRefusedAtOnce() throws Exception {
        for (String name : List.of("model.safetensors", "model.safetensors.index.json")) {
            Path pipe = folder.resolve(name);
            Process make = new ProcessBuilder("mkfifo", pipe.toString()).start();
            assertThat(make.waitFor(30, TimeUnit.SECONDS)).isTrue();
            assertThatThrownBy(() -> TensorStore.open(folder))
                    .isInstanceOf(IOException.class)
                    .hasMessage(pipe + ": expected a file but was a pipe or device");
            Files.delete(pipe);
        }
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void linksAreFollowedAndLoopsAreNoFiles() throws IOException {
        Path target = Files.write(folder.resolve("blob"), RawFile.bytes("{}", 0));
        Path link = Files.createSymbolicLink(folder.resolve("model.safetensors"), target);
        assertThatCode(() -> TensorStore.open(folder).close()).doesNotThrowAnyException();
        Files.delete(link);
        Files.createSymbolicLink(link, link);
        Files.createSymbolicLink(folder.resolve("model.safetensors.index.json"), link);
        assertThatThrownBy(() -> TensorStore.open(folder)).isInstanceOf(NoSuchFileException.class);
        assertThatThrownBy(() -> SafetensorsFile.open(link)).isInstanceOf(IOException.class);
    }

    @Test
    void aFileThatIsCutOffWhileItIsMappedEndsNoProcess() throws Exception {
        Path file = RawFile.write(
                folder, RawFile.bytes("{" + entry("a", "BF16", "4000000", 0, 8_000_000) + "}", 8_000_000));
        String printed = ChildJvm.run(Duration.ofMinutes(5), List.of("-Xmx64m"), CutOffProbe.class, file.toString());
        assertThat(printed.lines())
                .containsExactly(
                        "UncheckedIOException java.io.IOException: " + file
                                + ": a: expected a file that stays as it is but"
                                + " was cut off while it was read; do not write to a file while it is read",
                        "IOException " + file + ": expected a file that stays " + Files.size(file)
                                + " bytes long but was 4096; do not write to a file while it is read");
    }
}
