package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.checkpoint.safetensors.RawFile.entry;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every rule of the format, broken. */
class HeaderRulesTest {
    @TempDir
    private Path folder;

    private String refusal(byte[] bytes) throws IOException {
        Path file = RawFile.write(folder, bytes);
        StringBuilder message = new StringBuilder();
        assertThatThrownBy(() -> SafetensorsFile.open(file).close())
                .isInstanceOf(SafetensorsFormatException.class)
                .satisfies(e -> message.append(e.getMessage()));
        assertThat(message.toString()).startsWith(file + ": ");
        return message.substring(file.toString().length() + 2);
    }

    static Stream<Arguments> brokenHeaders() {
        String one = entry("a", "F32", "2", 0, 8);
        return Stream.of(
                Arguments.of("[]", 0, "header: expected a JSON object that begins at once but was something else"),
                Arguments.of(" {}", 0, "header: expected a JSON object that begins at once but was something else"),
                Arguments.of(
                        "{} x", 0, "header: expected only blanks after its last brace but was more at character 3"),
                Arguments.of(
                        "{}\n", 0, "header: expected only blanks after its last brace but was more at character 2"),
                Arguments.of("{" + one + "," + one + "}", 8, "header: expected JSON but was broken at character"),
                Arguments.of("{" + one, 8, "header: expected JSON but was broken at character"),
                Arguments.of("{\"a\":[[[[[[[[[[", 8, "a: expected an object but was START_ARRAY at character 5"),
                Arguments.of("{\"a\":3}", 0, "a: expected an object but was VALUE_NUMBER_INT at character 5"),
                Arguments.of("{\"a\":{}}", 0, "a: expected dtype, shape and two data_offsets but was an entry without"),
                Arguments.of(
                        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}",
                        8,
                        "a: expected dtype, shape and two data_offsets but was an entry without them"),
                Arguments.of(
                        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}",
                        8,
                        "a: expected dtype, shape and data_offsets only but was more"),
                Arguments.of(
                        "{" + entry("a", "F4", "2", 0, 8) + "}",
                        8,
                        "a: expected one of " + List.of(ElementType.values()) + " as dtype but was F4"),
                Arguments.of(
                        "{" + entry("a", "F32", "-1", 0, 8) + "}",
                        8,
                        "a: expected whole numbers from 0 to 2^63 - 1 in shape but was VALUE_NUMBER_INT"),
                Arguments.of(
                        "{" + entry("a", "F32", "2.0", 0, 8) + "}",
                        8,
                        "a: expected whole numbers from 0 to 2^63 - 1 in shape but was VALUE_NUMBER_FLOAT"),
                Arguments.of(
                        "{" + entry("a", "F32", "9223372036854775808", 0, 8) + "}",
                        8,
                        "a: expected whole numbers from 0 to 2^63 - 1 in shape but was VALUE_NUMBER_INT"),
                Arguments.of(
                        "{" + entry("a", "F32", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2", 0, 8) + "}",
                        8,
                        "a: expected at most 16 numbers in shape but was"),
                Arguments.of(
                        "{" + entry("a", "F32", "4294967296,4294967296", 0, 0) + "}",
                        0,
                        "a: expected a shape of less than 2^63 bytes but was [4294967296, 4294967296]"),
                Arguments.of(
                        "{" + entry("a", "F64", "2305843009213693952", 0, 0) + "}",
                        0,
                        "a: expected a shape of less than 2^63 bytes but was [2305843009213693952]"),
                Arguments.of(
                        "{" + entry("a", "F32", "3", 0, 8) + "}",
                        8,
                        "a: expected 12 bytes (F32 [3]) but was data_offsets 0 to 8"),
                Arguments.of(
                        "{" + entry("a", "F32", "2", 8, 0) + "}",
                        8,
                        "a: expected 8 bytes (F32 [2]) but was data_offsets 8 to 0"),
                Arguments.of(
                        "{" + entry("a", "F32", "2", 1, 9) + "}",
                        9,
                        "a: expected data from offset 0 on, where the tensor before it ends but was 1"),
                Arguments.of(
                        "{" + one + "," + entry("b", "F32", "2", 4, 12) + "}",
                        12,
                        "b: expected data from offset 8 on, where the tensor before it ends but was 4"),
                Arguments.of(
                        "{" + one + "," + entry("b", "F32", "0", 4, 4) + "}",
                        8,
                        "b: expected data from offset 8 on, where the tensor before it ends but was 4"),
                Arguments.of("{" + one + "}", 7, "a: expected data that ends within the file's 7 bytes but was 8"),
                Arguments.of("{" + one + "}", 9, "data: expected 8 bytes as the header says but was 9"),
                Arguments.of("{}", 8, "data: expected 0 bytes as the header says but was 8"),
                Arguments.of(
                        "{\"__metadata__\":{\"format\":\"pt\"}}",
                        1,
                        "data: expected 0 bytes as the header says but was 1"),
                Arguments.of(
                        "{" + entry("a", "F32", "0", 0, 0) + "}",
                        1,
                        "data: expected 0 bytes as the header says but was 1"),
                Arguments.of(
                        "{\"__metadata__\":{\"a\":1}}",
                        0,
                        "__metadata__: expected text as value of a but was VALUE_NUMBER_INT at character 21"),
                Arguments.of("{\"__metadata__\":3}", 0, "__metadata__: expected an object but was VALUE_NUMBER_INT"),
                Arguments.of("{\"a\":\"" + "x".repeat(70_000) + "\"}", 0, "a: expected an object but was VALUE_STRING"),
                Arguments.of("{\"" + "x".repeat(70_000) + "\":1}", 0, "header: expected JSON but was broken"));
    }

    @ParameterizedTest
    @MethodSource("brokenHeaders")
    void aBrokenHeaderIsRefused(String header, int dataLength, String message) throws IOException {
        assertThat(refusal(RawFile.bytes(header, dataLength))).startsWith(message);
    }

    @Test
    void aBrokenLengthIsRefused() throws IOException {
        byte[] json = "{}".getBytes(StandardCharsets.UTF_8);
        assertThat(refusal(new byte[7])).isEqualTo("file: expected at least 8 bytes (length of the header) but was 7");
        assertThat(refusal(RawFile.bytes(3, json, 0)))
                .isEqualTo("header: expected a length from 0 to 2 at byte 0 but was 3");
        assertThat(refusal(RawFile.bytes(-1, json, 0)))
                .isEqualTo("header: expected a length from 0 to 2 at byte 0 but was 18446744073709551615");
        assertThat(refusal(RawFile.bytes(100_000_001L, json, 0))).contains("but was 100000001");
        assertThat(refusal(RawFile.bytes(0, json, 0)))
                .isEqualTo("header: expected a JSON object that begins at once but was something else");
    }

    @Test
    void aHeaderThatIsNotUtf8IsRefused() throws IOException {
        byte[] json = "{\"a\":1}".getBytes(StandardCharsets.UTF_8);
        json[2] = (byte) 0xff;
        assertThat(refusal(RawFile.bytes(json.length, json, 0)))
                .isEqualTo("header: expected UTF-8 but was malformed at byte 10");
    }

    @Test
    void aMessageIsOneShortLineWhateverTheName() throws IOException {
        String name = "a\\nb" + "x".repeat(60_000);
        assertThat(refusal(RawFile.bytes("{" + entry(name, "F32", "3", 0, 8) + "}", 8)))
                .startsWith("a?bxxx")
                .hasSizeLessThan(300)
                .endsWith("…: expected 12 bytes (F32 [3]) but was data_offsets 0 to 8");
    }

    @Test
    void whatTheFormatAllowsIsRead() throws IOException {
        String header = "{\"__metadata__\":{},"
                + entry("z", "U8", "3", 8, 11) + ","
                + entry("empty", "F32", "2,0", 8, 8) + ","
                + entry("a", "F32", "2", 0, 8) + ","
                + entry("one", "I16", "", 11, 13) + "}     ";
        try (SafetensorsFile file = SafetensorsFile.open(RawFile.write(folder, RawFile.bytes(header, 13)))) {
            assertThat(file.tensors().keySet()).containsExactly("a", "empty", "z", "one");
            assertThat(file.metadata()).isEmpty();
            assertThat(file.tensors().get("empty").elements()).isZero();
            assertThat(file.info("one").elements()).isEqualTo(1);
            double[] value = new double[1];
            file.tensor("one").read(0, value, 0, 1);
            assertThat(value[0]).isEqualTo(11 + 256 * 12);
            file.tensor("empty").read(0, value, 0, 0);
        }
        String texts = "{\"__metadata__\":{\"format\":\"pt\"}}";
        try (SafetensorsFile file = SafetensorsFile.open(RawFile.write(folder, RawFile.bytes(texts, 0)))) {
            assertThat(file.metadata()).containsEntry("format", "pt");
            assertThat(file.tensors()).isEmpty();
        }
    }

    /** Tensors are in the order of begin, then end, then name: an empty one stands before that which begins where it does. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anEmptyTensorMayShareAnOffsetWhateverItsName(boolean emptyFirst) throws IOException {
        List<String> entries = new ArrayList<>(List.of(
                entry("y", "F32", "0", 8, 8),
                entry("z", "F64", "3,0", 8, 8),
                entry("a", "F32", "2", 0, 8),
                entry("m", "U8", "3", 8, 11),
                entry("b", "U8", "0", 11, 11),
                entry("zero", "I8", "0", 0, 0)));
        if (!emptyFirst) {
            Collections.reverse(entries);
        }
        byte[] bytes = RawFile.bytes("{" + String.join(",", entries) + "}", 11);
        try (SafetensorsFile file = SafetensorsFile.open(RawFile.write(folder, bytes))) {
            assertThat(file.tensors().keySet()).containsExactly("zero", "a", "y", "z", "m", "b");
            double[] values = new double[3];
            file.tensor("m").read(0, values, 0, 3);
            assertThat(values).containsExactly(8, 9, 10);
        }
    }
}
