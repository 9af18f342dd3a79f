package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.code_intelligence.jazzer.Jazzer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.config.ModelConfigFuzz;
import org.moe4j.checkpoint.safetensors.HeaderFuzz;
import org.moe4j.checkpoint.safetensors.PlantedFuzz;
import org.moe4j.checkpoint.safetensors.SafetensorsFileFuzz;
import org.moe4j.checkpoint.safetensors.ShardIndexFuzz;
import org.moe4j.checkpoint.trace.TraceFileFuzz;
import org.moe4j.core.testing.ChildJvm;

/**
 * Coverage-guided fuzzing of what is read from files, each target in a JVM of its own, from a fixed seed. What a
 * header may allocate is measured in the target, as Jazzer itself needs a larger heap than that.
 * {@code -Dmoe.fuzz.scale=100} runs a hundred times as many inputs.
 */
@DisabledOnOs(value = OS.LINUX, architectures = "aarch64", disabledReason = "Jazzer has no natives for it")
class FuzzTest {
    private static final long SCALE = Long.getLong("moe.fuzz.scale", 1);
    private static final String HEADER = "{\"__metadata__\":{\"format\":\"pt\"},"
            + "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
            + "\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[24,26]},"
            + "\"c\":{\"dtype\":\"F8_E4M3\",\"shape\":[0],\"data_offsets\":[26,26]}} ";

    @TempDir
    private Path folder;

    private long run(Class<?> target, long runs, List<String> words, byte[]... seeds) throws Exception {
        Path corpus = Files.createDirectory(folder.resolve("corpus"));
        for (int i = 0; i < seeds.length; i++) {
            Files.write(corpus.resolve("seed" + i), seeds[i]);
        }
        Path dictionary = Files.write(
                folder.resolve("words"),
                words.stream()
                        .map(word -> '"' + word.replace("\\", "\\\\").replace("\"", "\\\"") + '"')
                        .toList());
        String printed = ChildJvm.run(
                Duration.ofMinutes(8 * SCALE),
                List.of(
                        "-Xmx256m",
                        "-XX:MaxDirectMemorySize=64m",
                        "-XX:TieredStopAtLevel=1", // most of a target's time is the start of its JVM
                        "-XX:+EnableDynamicAgentLoading"),
                Jazzer.class,
                "--target_class=" + target.getName(),
                "--instrumentation_includes=org.moe4j.checkpoint.**",
                "--reproducer_path=" + folder,
                "-artifact_prefix=" + folder + "/",
                "-dict=" + dictionary,
                "-runs=" + runs,
                "-seed=1",
                "-max_len=2048",
                "-timeout=5",
                "-rss_limit_mb=0",
                corpus.toString());
        Matcher done = Pattern.compile("Done (\\d+) runs in (\\d+) second").matcher(printed);
        assertThat(done.find()).as(printed).isTrue();
        assertThat(coverage(printed, "DONE")).as(printed).isGreaterThan(coverage(printed, "INITED"));
        return Long.parseLong(done.group(1));
    }

    /** Edges that the inputs so far took, as Jazzer reports them. */
    private static int coverage(String printed, String event) {
        Matcher line = Pattern.compile(event + " +cov: (\\d+)").matcher(printed);
        assertThat(line.find()).as(printed).isTrue();
        return Integer.parseInt(line.group(1));
    }

    private static byte[] bytes(int first, String text) {
        return ((char) first + text).getBytes(StandardCharsets.UTF_8);
    }

    private static final List<String> HEADER_WORDS = List.of(
            "\"dtype\":",
            "\"shape\":[",
            "\"data_offsets\":[",
            "\"__metadata__\":{",
            "\"F64\"",
            "\"I64\"",
            "\"BOOL\"",
            "\"U8\"",
            "{\"",
            "\":\"",
            "\",\"",
            "]}",
            "}}",
            "9223372036854775807",
            "4294967296",
            "-1",
            "\\ud800",
            "1e9");

    @Test
    void aMillionHeadersAreReadOrRefused() throws Exception {
        long runs = 1_000_000 * SCALE;
        assertThat(run(HeaderFuzz.class, runs, HEADER_WORDS, bytes(26, HEADER), bytes(0, "{}")))
                .isGreaterThanOrEqualTo(runs);
    }

    @Test
    void filesAreOpenedOrRefused() throws Exception {
        byte[] json = HEADER.getBytes(StandardCharsets.UTF_8);
        byte[] file = new byte[8 + json.length + 26];
        file[0] = (byte) json.length;
        System.arraycopy(json, 0, file, 8, json.length);
        long runs = 10_000 * SCALE;
        assertThat(run(SafetensorsFileFuzz.class, runs, HEADER_WORDS, file)).isGreaterThanOrEqualTo(runs);
    }

    @Test
    void indicesAreReadOrRefused() throws Exception {
        byte[] index = ("{\"metadata\":{\"total_size\":9},\"weight_map\":{\"a\":\"model-1.safetensors\","
                        + "\"b\":\"model-2.safetensors\"}}")
                .getBytes(StandardCharsets.UTF_8);
        List<String> words =
                List.of("\"weight_map\":{", "\"a\":\"", "\"..\"", "\"../a\"", "\"C:\\\\a\"", "\"\\u0000\"", "\"/a\"");
        long runs = 80_000 * SCALE;
        assertThat(run(ShardIndexFuzz.class, runs, words, index)).isGreaterThanOrEqualTo(runs);
    }

    @Test
    void configurationsAndRulesAreAppliedOrRefused() throws Exception {
        byte[] plain = ("num_experts, n | 8 -> 8: a, *: b if m | x != y\n"
                        + "{\"num_experts\":8,\"m\":\"z\",\"text_config\":{\"n\":null},\"rope\":{\"factor\":2.5}}")
                .getBytes(StandardCharsets.UTF_8);
        byte[] product = "sqrt n / m * k\n{\"n\":1,\"m\":2e3,\"k\":[1,2]}".getBytes(StandardCharsets.UTF_8);
        List<String> words = List.of(" if ", " * ", "sqrt ", " / ", "->", "| none", "null", "'a'", "!=", "text_config");
        long runs = 80_000 * SCALE;
        assertThat(run(ModelConfigFuzz.class, runs, words, plain, product)).isGreaterThanOrEqualTo(runs);
    }

    @Test
    void tracesAreReadOrRefused() throws Exception {
        byte[] indices = numpy("|u1", "(2, 2)", new byte[] {0, 1, 3, 2});
        byte[] logits = numpy("<f4", "(1, 1, 2)", new byte[8]);
        List<String> words =
                List.of("'descr': '<", "'fortran_order': ", "False", "'shape': (", "|u1", "<i8", "<f2", "|O", "), }");
        long runs = 6_000 * SCALE;
        assertThat(run(TraceFileFuzz.class, runs, words, indices, logits)).isGreaterThanOrEqualTo(runs);
    }

    private static byte[] numpy(String type, String shape, byte[] numbers) {
        String header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
        byte[] text =
                ("\u0093NUMPY\u0001\0" + (char) header.length() + "\0" + header).getBytes(StandardCharsets.ISO_8859_1);
        byte[] all = Arrays.copyOf(text, text.length + numbers.length);
        System.arraycopy(numbers, 0, all, text.length, numbers.length);
        return all;
    }

    /** The check of the check: an error behind a right header with one word in it is found. */
    @Test
    void aPlantedErrorIsFound() {
        assertThatThrownBy(() -> run(
                        PlantedFuzz.class,
                        20_000_000,
                        List.of("format"),
                        "{\"__metadata__\":{\"format\":\"pt\"}}".getBytes(StandardCharsets.UTF_8)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("java.lang.IllegalStateException: planted");
    }
}
