package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.bench.cli.RoutingFixture.json;
import static org.moe4j.bench.cli.RoutingFixture.routing;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.checkpoint.trace.TraceOptions;
import org.moe4j.router.analysis.ChosenExperts;

final class RoutingGenerateCommandTest {
    private static final int TOKENS = 40_000;

    /** Standard errors of the measured coefficient and distance: shares of 40 000 · 8 draws are off by far less. */
    private static final double CHANCE = 0.02;

    @TempDir
    Path temporary;

    private List<Path> generate(String name, Object... options) {
        Path out = temporary.resolve(name);
        Object[] all = new Object[options.length + 3];
        all[0] = "generate";
        all[1] = "--out";
        all[2] = out;
        System.arraycopy(options, 0, all, 3, options.length);
        RoutingFixture.Outcome outcome = routing(all);
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.status()).isZero();
        return outcome.out()
                .lines()
                .map(line -> Path.of(line.substring("Wrote ".length())))
                .toList();
    }

    private static double[] shares(TraceFile trace, String layer) {
        double[] shares = new double[trace.experts()];
        ChosenExperts all = trace.source(layer).block(0, Math.toIntExact(trace.tokens()));
        for (int slot = 0; slot < all.slots(); slot++) {
            shares[all.expert(slot)] += 1.0 / all.slots();
        }
        return shares;
    }

    private static double variation(double[] shares) {
        double mean = 1.0 / shares.length;
        return Math.sqrt(Arrays.stream(shares)
                        .map(share -> (share - mean) * (share - mean))
                        .average()
                        .orElseThrow())
                / mean;
    }

    @Test
    void loadHasTheVariationThatWasAskedFor() throws IOException {
        Path file = generate("made.safetensors", "--tokens", TOKENS, "--layers", 3, "--variation", 0.88)
                .get(0);
        TraceFile trace = TraceFile.open(file, TraceOptions.none());
        assertThat(trace.layers()).containsExactly("0", "1", "2");
        assertThat(trace.experts()).isEqualTo(64);
        assertThat(trace.topK()).isEqualTo(8);
        assertThat(trace.tokens()).isEqualTo(TOKENS);
        for (String layer : trace.layers()) {
            assertThat(variation(shares(trace, layer))).isCloseTo(0.88, within(CHANCE));
        }
        assertThat(shares(trace, "0")).isNotEqualTo(shares(trace, "1"));
        assertThat(trace.metadata().get("moe4j.synthetic"))
                .isEqualTo("synthetic, top 8 of 64 experts, expected coefficient of variation 0.8800, seed 1");
        assertThat(Files.size(file)).as("one byte for each expert of a token").isLessThan(3L * TOKENS * 8 + 4096);
    }

    @Test
    void kindsOfTextAreApartAsWasAskedFor() throws IOException {
        List<Path> files =
                generate("kinds.safetensors", "--tokens", TOKENS, "--layers", 2, "--domains", 3, "--distance", 0.4);
        assertThat(files)
                .extracting(file -> file.getFileName().toString())
                .containsExactly("kinds-1.safetensors", "kinds-2.safetensors", "kinds-3.safetensors");
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            double[] one = shares(TraceFile.open(files.get(i), TraceOptions.none()), "1");
            double[] other = shares(TraceFile.open(files.get((i + 1) % 3), TraceOptions.none()), "1");
            sum += IntStream.range(0, 64)
                            .mapToDouble(e -> Math.abs(one[e] - other[e]))
                            .sum()
                    / 2;
        }
        assertThat(sum / 3).isCloseTo(0.4, within(CHANCE));
        JsonNode root = json(files.toArray());
        assertThat(root.get("synthetic").asBoolean()).isTrue();
        assertThat(root.get("distance").get(1).get("cross").asDouble()).isCloseTo(sum / 3, within(1e-12));
    }

    @Test
    void theSameSeedMakesTheSameFile() throws IOException {
        Object[] small = {"--tokens", 50, "--layers", 2, "--experts", 300, "--top-k", 4, "--variation", 1, "--seed", 7};
        Path one = generate("one.safetensors", small).get(0);
        Path same = generate("same.safetensors", small).get(0);
        small[small.length - 1] = 8;
        Path other = generate("other.safetensors", small).get(0);
        assertThat(one).hasSameBinaryContentAs(same);
        assertThat(Files.readAllBytes(one)).isNotEqualTo(Files.readAllBytes(other));
        Path wide = generate("wide.safetensors", "--tokens", 50, "--layers", 1, "--dtype", "i64")
                .get(0);
        assertThat(Files.size(wide)).isBetween(50L * 8 * 8, 50L * 8 * 8 + 1024);
    }

    private void wrong(String message, Object... options) {
        Object[] all = new Object[options.length + 3];
        all[0] = "generate";
        all[1] = "--out";
        all[2] = temporary.resolve("never.safetensors");
        System.arraycopy(options, 0, all, 3, options.length);
        RoutingFixture.Outcome outcome = routing(all);
        assertThat(outcome.status()).as(outcome.err()).isEqualTo(2);
        assertThat(outcome.err().lines().toList().get(0)).contains(message);
        assertThat(outcome.err().lines()).hasSize(2);
        assertThat(temporary.resolve("never.safetensors")).doesNotExist();
    }

    @Test
    void wrongUsageIsOneLineAndAHint() {
        assertThat(routing("generate").status()).isEqualTo(2);
        assertThat(routing("generate", "--out", "").status()).isEqualTo(2);
        assertThat(routing("generate", "--out", temporary).status()).isEqualTo(1);
        wrong("--tokens: expected at least 1 but was 0", "--tokens", 0);
        wrong("--tokens: expected at most 4294967296 but was 99999999999999999", "--tokens", 99999999999999999L);
        wrong("--layers: expected at most 4096 but was 5000", "--layers", 5000);
        wrong("--variation: expected 0..2.6457513110645907 (sqrt(E/K - 1)) but was 9.0", "--variation", 9);
        wrong("--top-k: expected 1..64 (experts) but was 65", "--top-k", 65);
        wrong("--distance: expected --domains of at least 2 beside it but was alone", "--distance", 0.5);
        wrong("--distance: expected ", "--domains", 2, "--distance", 0.99);
        wrong("--dtype: expected a type that holds 300 experts but was u8", "--experts", 300, "--dtype", "u8");
        wrong("expected one of [u8, i8, i16, i32, i64] but was f32", "--dtype", "f32");
    }
}
