package org.moe4j.checkpoint;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/**
 * The attacks that readers of the format are known to have fallen for, by name, opened by a JVM whose whole heap is 64 MiB. What is cut off
 * at every byte is in {@code HostileFilesTest}, what exhausts memory in {@code HostileSizesTest}.
 */
class NamedAttacksTest {
    private static final int MANY = 1_000_000;

    @TempDir
    private Path folder;

    private final Map<String, String> refusals = new LinkedHashMap<>();

    private void attack(String name, long claimed, byte[] header, int data, String refusal) throws IOException {
        ByteBuffer file = ByteBuffer.allocate(8 + header.length + data).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(claimed).put(header);
        Files.write(Files.createDirectory(folder.resolve(name)).resolve("model.safetensors"), file.array());
        refusals.put(name, refusal);
    }

    private void attack(String name, String header, int data, String refusal) throws IOException {
        byte[] bytes = header.getBytes(UTF_8);
        attack(name, bytes.length, bytes, data, refusal);
    }

    private static String tensor(String name, String shape, long begin, long end) {
        return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" + shape + "],\"data_offsets\":[" + begin + "," + end
                + "]}";
    }

    @Test
    void everyAttackIsRefusedByName() throws Exception {
        lengths();
        offsets();
        texts();
        bombs();
        String printed = ChildJvm.run(
                Duration.ofMinutes(2),
                List.of("-Xmx64m", "-XX:MaxDirectMemorySize=8m"),
                HostileProbe.class,
                refusals.keySet().stream()
                        .map(name -> folder.resolve(name).toString())
                        .toArray(String[]::new));
        List<String[]> outcomes =
                printed.lines().map(line -> line.split(" \\| ", 3)).toList();
        assertThat(outcomes).hasSameSizeAs(refusals.keySet());
        long slowest = 0;
        for (String[] outcome : outcomes) {
            assertThat(outcome[2])
                    .as(outcome[0])
                    .startsWith("SafetensorsFormatException model.safetensors: " + refusals.get(outcome[0]));
            slowest = Math.max(slowest, Long.parseLong(outcome[1].replace(" ms", "")));
        }
        Promise.measured(
                16,
                "named attacks",
                "%d of %d refused in a heap of 64 MiB, the slowest in %d ms"
                        .formatted(outcomes.size(), refusals.size(), slowest));
    }

    private void lengths() throws IOException {
        byte[] empty = "{}".getBytes(UTF_8);
        attack("length-beyond-the-file", 1000, empty, 0, "header: expected a length from 0 to 2 ");
        attack("length-above-the-limit", 100_000_001L, empty, 0, "header: expected a length from 0 to 2 ");
        attack("length-negative", -1, empty, 0, "header: expected a length from 0 to 2 ");
        attack("shape-overflows", "{" + tensor("a", "4294967296,4294967296", 0, 0) + "}", 0, "a: expected a shape of");
        attack("bytes-overflow", "{" + tensor("a", "4611686018427387904", 0, 0) + "}", 0, "a: expected a shape of");
    }

    private void offsets() throws IOException {
        String one = tensor("a", "2", 0, 8);
        attack("offsets-reversed", "{" + tensor("a", "2", 8, 0) + "}", 8, "a: expected 8 bytes");
        attack(
                "offsets-overlap",
                "{" + one + "," + tensor("b", "2", 4, 12) + "}",
                12,
                "b: expected data from offset 8");
        attack("hole", "{" + one + "," + tensor("b", "2", 12, 20) + "}", 20, "b: expected data from offset 8");
        attack("beyond-the-end", "{" + one + "}", 7, "a: expected data that ends within");
        attack("bytes-without-tensors", "{}", 9, "data: expected 0 bytes");
        attack("end-not-covered", "{" + one + "}", 9, "data: expected 8 bytes");
        attack(
                "empty-tensor-shares-an-offset",
                "{" + one + "," + tensor("b", "0", 4, 4) + "}",
                8,
                "b: expected data from");
        attack("name-twice", "{" + one + "," + one + "}", 8, "header: expected JSON but was broken");
    }

    private void texts() throws IOException {
        attack("metadata-with-numbers", "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: expected text");
        attack("lone-surrogate", "{\"\\ud800\":{}}", 0, "header: expected JSON but was broken");
        attack("byte-order-mark", "\ufeff{}", 0, "header: expected a JSON object that begins at once");
        attack("not-an-object", "[]", 0, "header: expected a JSON object that begins at once");
        byte[] malformed = {'{', '"', (byte) 0xff, '"', ':', '1', '}'};
        attack("not-utf-8", malformed.length, malformed, 0, "header: expected UTF-8");
    }

    private void bombs() throws IOException {
        attack("depth", "{\"a\":" + "[".repeat(MANY), 0, "a: expected an object");
        attack("number", "{\"a\":{\"shape\":[" + "9".repeat(MANY) + "]}}", 0, "header: expected JSON but was broken");
        String entries = IntStream.range(0, MANY)
                .mapToObj(i -> "\"" + i + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}")
                .collect(Collectors.joining(","));
        attack("entries", "{" + entries + "}", 0, "100000: expected at most 100000 tensors");
    }
}
