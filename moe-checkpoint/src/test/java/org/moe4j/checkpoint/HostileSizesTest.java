package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.testing.ChildJvm;

/** Files that are made to exhaust memory, opened one after another by a JVM whose whole heap is 64 MiB. */
class HostileSizesTest {
    private static final int LONGEST = 100_000_000;

    @TempDir
    private Path folder;

    private final List<String> names = new ArrayList<>();

    private Path file(String name, String file) throws IOException {
        names.add(folder.resolve(name).toString());
        return Files.createDirectory(folder.resolve(name)).resolve(file);
    }

    /** A header of so many pieces between two texts, padded with blanks to the greatest length. */
    private void header(String name, String begin, int count, IntFunction<String> piece, String end)
            throws IOException {
        try (OutputStream out =
                new BufferedOutputStream(Files.newOutputStream(file(name, "model.safetensors")), 1 << 16)) {
            out.write(ByteBuffer.allocate(8)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(LONGEST)
                    .array());
            int left = LONGEST - write(out, begin);
            for (int i = 0; i < count; i++) {
                left -= write(out, piece.apply(i));
            }
            left -= write(out, end);
            byte[] blanks = new byte[1 << 16];
            Arrays.fill(blanks, (byte) ' ');
            for (; left > 0; left -= blanks.length) {
                out.write(blanks, 0, Math.min(left, blanks.length));
            }
        }
    }

    private static int write(OutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.write(bytes);
        return bytes.length;
    }

    private static String empty(int i) {
        return (i == 0 ? "" : ",") + "\"t" + i + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
    }

    @Test
    void noFileTakesMoreThanSixtyFourMebibytes() throws Exception {
        header("blanks", "{", 0, i -> "", "}");
        header("onlyBlanks", "", 0, i -> "", "");
        header("blanksInside", "{\"a\":", 1_000_000, i -> "                                ", "3}");
        header("brackets", "{\"a\":", 90_000_000, i -> "[", "");
        header("digits", "{\"a\":{\"shape\":[", 900_000, i -> "9".repeat(100), "]}}");
        header("longName", "{\"", 900_000, i -> "x".repeat(100), "\":1}");
        header("longText", "{\"__metadata__\":{\"a\":\"", 900_000, i -> "x".repeat(100), "\"}}");
        header(
                "manyTexts",
                "{\"__metadata__\":{\"0\":\"0\"",
                900_000,
                i -> ",\"t" + i + "\":\"" + "x".repeat(60) + "\"",
                "}}");
        header("manySizes", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1", 9_000_000, i -> ",1", "]}}");
        header("mostTensors", "{", 100_000, HostileSizesTest::empty, "}");
        header("tooManyTensors", "{", 1_000_000, HostileSizesTest::empty, "}");
        index();
        Files.writeString(file("nested", "config.json"), "{\"a\":" + "[".repeat(100_000) + "]".repeat(100_000) + "}");
        Files.writeString(file("numbers", "config.json"), "{\"a\":[" + "12345,".repeat(600_000) + "1]}");
        String printed = ChildJvm.run(
                Duration.ofMinutes(10),
                List.of("-Xmx64m", "-XX:MaxDirectMemorySize=8m"),
                HostileProbe.class,
                names.toArray(String[]::new));
        String file = "SafetensorsFormatException model.safetensors: ";
        List<String> expected = List.of(
                "blanks | 0 tensors",
                "onlyBlanks | " + file + "header: expected a JSON object that begins at once but was something else",
                "blanksInside | " + file + "a: expected an object but was VALUE_NUMBER_INT at character 32000005",
                "brackets | " + file + "a: expected an object but was START_ARRAY at character 5",
                "digits | " + file,
                "longName | " + file,
                "longText | " + file,
                "manyTexts | " + file,
                "manySizes | " + file + "a: expected at most 16 numbers in shape but was VALUE_NUMBER_INT",
                "mostTensors | 100000 tensors",
                "tooManyTensors | " + file
                        + "t100000: expected at most 100000 tensors and texts of __metadata__ but was FIELD_NAME",
                "index | SafetensorsFormatException",
                "nested | IOException",
                "numbers | none");
        List<String> outcomes =
                printed.replaceAll("\\| \\d+ ms \\|", "|").lines().toList();
        assertThat(outcomes).hasSameSizeAs(expected);
        for (int i = 0; i < expected.size(); i++) {
            assertThat(outcomes.get(i)).startsWith(expected.get(i));
        }
    }

    private void index() throws IOException {
        try (OutputStream out = new BufferedOutputStream(
                Files.newOutputStream(file("index", "model.safetensors.index.json")), 1 << 16)) {
            write(out, "{\"weight_map\":{\"t\":\"x\"");
            for (int i = 0; i < 1_000_000; i++) {
                write(out, ",\"t" + i + "\":\"model-1-of-1.safetensors\"");
            }
            write(out, "}}");
        }
    }
}
