package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.moe4j.bench.cli.RoutingFixture.EXPERTS;
import static org.moe4j.bench.cli.RoutingFixture.LAYERS;
import static org.moe4j.bench.cli.RoutingFixture.PROSE;
import static org.moe4j.bench.cli.RoutingFixture.TOKENS;
import static org.moe4j.bench.cli.RoutingFixture.TOP_K;
import static org.moe4j.bench.cli.RoutingFixture.counts;
import static org.moe4j.bench.cli.RoutingFixture.indices;
import static org.moe4j.bench.cli.RoutingFixture.json;
import static org.moe4j.bench.cli.RoutingFixture.routing;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.trace.TraceWriter;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.analysis.RoutingSource;

/** Files and forms of what the command says, and what it refuses. */
final class RoutingOutputTest {
    @TempDir
    static Path temporary;

    private static Path prose;
    private static Path code;
    private static Path logits;

    @BeforeAll
    static void write() throws IOException {
        System.setProperty("java.awt.headless", "true");
        RoutingFixture files = RoutingFixture.in(temporary);
        prose = files.prose;
        code = files.code;
        logits = files.logits;
    }

    @Test
    void filesAreWrittenAndNamed() throws IOException {
        Path out = temporary.resolve("out of it");
        JsonNode root = json(prose, code, "--out", out);
        Set<String> files = new HashSet<>();
        for (JsonNode file : root.get("files")) {
            Path path = Path.of(file.asText());
            assertThat(path).isRegularFile().hasParent(out);
            files.add(path.getFileName().toString());
        }
        assertThat(files)
                .contains(
                        "routing.html",
                        "routing-traces.csv",
                        "routing-load.csv",
                        "routing-batch.csv",
                        "routing-batch_mixed.csv",
                        "routing-devices.csv",
                        "routing-devices_balance.csv",
                        "routing-devices_traffic.csv",
                        "routing-distance.csv",
                        "routing-preferences.csv")
                .contains("routing-load-map.svg", "routing-load-map.png", "routing-load-bars.png", "routing-batch.svg")
                .contains(
                        "routing-together.png",
                        "routing-distance.svg",
                        "routing-usage.png",
                        "routing-distance-matrix.svg");
        for (String name : files) {
            if (name.endsWith(".png")) {
                assertThat(ImageIO.read(out.resolve(name).toFile()).getWidth()).isEqualTo(2400);
            }
        }
        List<String> csv = Files.readAllLines(out.resolve("routing-load.csv"));
        assertThat(csv).hasSize(1 + 2 * LAYERS);
        assertThat(csv.get(0)).startsWith("passage,layer,slots,busiest_expert,busiest_share,");
        String first = root.get("load").get(0).get("variation").asText();
        assertThat(csv.get(1)).startsWith("prose,0,111,").contains("," + first + ",");
        assertThat(Files.readString(out.resolve("routing.html"))).doesNotContain("SYNTHETIC");
    }

    /** Everything in the tables stands in the JSON object too, under the same headings. */
    @Test
    void tablesAndJsonSayTheSame() throws IOException {
        RoutingFixture.Outcome text = routing(prose, code);
        assertThat(text.status()).isZero();
        JsonNode root = json(prose, code);
        Map<String, String> titles = new TreeMap<>(Map.of(
                "traces", "Traces",
                "load", "Load of each layer",
                "batch", "Experts that tokens need together",
                "devices", "Devices that a token reaches",
                "distance", "Distance between passages in each layer"));
        titles.forEach((key, title) -> {
            List<String> lines = text.out().lines().toList();
            int at = lines.indexOf(title);
            assertThat(at).as(title).isNotNegative();
            int end = at + 3;
            while (end < lines.size() && !lines.get(end).isEmpty()) {
                end++;
            }
            assertThat(root.get(key)).as(key).hasSize(end - at - 3);
        });
        assertThat(root.get("synthetic").asBoolean()).isFalse();
    }

    @Test
    void whatIsSyntheticIsLabelledEverywhere() throws IOException {
        Path made = indices(temporary.resolve("made.safetensors"), PROSE, Map.of("moe4j.synthetic", "drawn <b>&</b>"));
        Path out = temporary.resolve("synthetic");
        RoutingFixture.Outcome outcome = routing(made, "--out", out);
        assertThat(outcome.out())
                .startsWith("SYNTHETIC: made by a generator and not by a model: made (drawn <b>&</b>)\n\n");
        assertThat(json(made).get("synthetic").asBoolean()).isTrue();
        assertThat(Files.readString(out.resolve("routing.html")))
                .contains("<p class=\"synthetic\">SYNTHETIC: ", "drawn &lt;b&gt;&amp;&lt;/b&gt;")
                .doesNotContain("<b>");
        assertThat(Files.readString(out.resolve("routing-load-map.svg"))).contains("SYNTHETIC. 1 passage");
    }

    @Test
    void aNameOfAFileIsTextAndNoMarkup() throws IOException {
        String name = "<img src=x onerror=alert(1)>&\u202e\u0007'\"";
        Path hostile = indices(temporary.resolve(name + ".safetensors"), PROSE, Map.of());
        Path out = temporary.resolve("hostile");
        RoutingFixture.Outcome outcome = routing(hostile, "--out", out);
        assertThat(outcome.status()).isZero();
        assertThat(outcome.out().lines().filter(line -> !line.startsWith("Wrote ")))
                .noneMatch(line -> line.contains("\u202e") || line.contains("\u0007"))
                .anyMatch(line -> line.contains("<img src=x onerror=alert(1)>&??'\""));
        assertThat(Files.readString(out.resolve("routing.html")))
                .contains("&lt;img src=x onerror=alert(1)&gt;&amp;??&#39;&quot;")
                .doesNotContain("<img", "\u202e", "\u0007");
        assertThat(Files.readString(out.resolve("routing-load-map.svg"))).doesNotContain("<img", "\u202e", "\u0007");
    }

    @Test
    void aMaskLeavesTokensOut() throws IOException {
        Path file = temporary.resolve("mask.npy");
        String header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + TOKENS + ",), }";
        byte[] text =
                (header + " ".repeat(63 - (10 + header.length()) % 64) + "\n").getBytes(StandardCharsets.US_ASCII);
        byte[] bytes = new byte[10 + text.length + TOKENS];
        byte[] magic = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (byte) text.length, 0};
        System.arraycopy(magic, 0, bytes, 0, magic.length);
        System.arraycopy(text, 0, bytes, magic.length, text.length);
        Arrays.fill(bytes, bytes.length - TOKENS, bytes.length - 7, (byte) 1);
        Files.write(file, bytes);
        JsonNode root = json(prose, "--mask", file);
        assertThat(root.get("traces").get(0).get("tokens").asInt()).isEqualTo(TOKENS - 7);
        long[] counts = counts(PROSE[0], 0, TOKENS - 7);
        assertThat(root.get("load").get(0).get("busiest_share").asDouble())
                .isEqualTo(Arrays.stream(counts).max().orElseThrow() / (double) (TOP_K * (TOKENS - 7)));
    }

    /** Nothing was counted: every number is 0 and none is missing but ratios to 0. */
    @Test
    void aTraceMayHaveNoTokens() throws IOException {
        Path none = RoutingFixture.indices(temporary.resolve("none.safetensors"), new int[][][] {{}, {}}, Map.of());
        JsonNode root = json(none, "--cache", 2, "--out", temporary.resolve("none"));
        assertThat(root.get("load")).hasSize(2);
        for (JsonNode row : root.get("load")) {
            assertThat(row.get("busiest_share").asDouble()).isZero();
            assertThat(row.get("variation").asDouble()).isZero();
            assertThat(row.get("idle_experts").asInt()).isEqualTo(EXPERTS);
        }
        assertThat(root.get("batch")).isEmpty();
        assertThat(root.get("caches").get(0).get("requests").asInt()).isZero();
        assertThat(temporary.resolve("none").resolve("routing.html")).isNotEmptyFile();
        wrong(2, "--token: expected nothing (no tokens in ", none, "--token", 0);
    }

    @Test
    void passagesOfTheSameNameAreToldApart() throws IOException {
        Path other = Files.createDirectories(temporary.resolve("other")).resolve("prose.safetensors");
        Files.copy(code, other);
        JsonNode traces = json(prose, other).get("traces");
        assertThat(traces.get(0).get("passage").asText()).isEqualTo("prose");
        assertThat(traces.get(1).get("passage").asText()).isEqualTo("prose (2)");
    }

    private static void wrong(int status, String message, Object... arguments) {
        RoutingFixture.Outcome outcome = routing(arguments);
        assertThat(outcome.status()).as(outcome.err()).isEqualTo(status);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err().lines().toList().get(0)).contains(message);
        assertThat(outcome.err().lines()).hasSize(status == 2 ? 2 : 1);
    }

    @Test
    void wrongUsageIsOneLineAndAHint() {
        wrong(2, "moe: Missing required parameter: 'FILE'");
        wrong(2, "FILE: expected a path but was empty", "");
        wrong(2, "--mask: expected one for each FILE (2) but was 1", prose, code, "--mask", prose);
        wrong(2, "--top-k: expected at least 1 but was 0", logits, "--top-k", 0);
        wrong(2, "--experts: expected at least 1 but was -1", prose, "--experts", -1);
        wrong(2, "--devices: expected numbers of at least 1 but was [2, 0]", prose, "--devices", "2,0");
        wrong(2, "--devices: expected numbers of at most 65536 but was [65537]", prose, "--devices", 65537);
        wrong(1, "nosuch: expected a file but found none", "nosuch");
        wrong(
                1,
                ": router_logits: expected a finite z-loss but was Infinity",
                logits,
                "--top-k",
                2,
                "--z-coefficient",
                1e308);
        wrong(2, "--cache", prose, "--cache", "x");
        wrong(2, "--layer: expected --token beside it but was alone", prose, "--layer", 1);
        wrong(2, "--token: expected 0..36 (tokens of ", prose, "--token", 37);
        wrong(2, "--layer: expected one of [0, 1, 2, 3] but was 9", prose, "--token", 1, "--layer", 9);
        wrong(2, "--preset: expected one of [", logits, "--preset", "nosuch");
        wrong(2, "--z-coefficient: expected a number of at least 0 but was NaN", prose, "--z-coefficient", "NaN");
        wrong(2, "--out: expected a path but was empty", prose, "--out", "");
    }

    @Test
    void wrongFilesAreOneLineWithTheirName() throws IOException {
        Path missing = temporary.resolve("missing.safetensors");
        wrong(1, missing.toString(), missing);
        Path text = Files.writeString(temporary.resolve("text.safetensors"), "no trace at all");
        wrong(1, text.toString(), text);
        wrong(
                2,
                "moe: --top-k: expected the experts per token, which " + logits + " does not say, but was absent",
                logits);
        wrong(2, "moe: --experts: expected 12 as in " + prose + " but was 5", prose, "--experts", 5);
        wrong(2, "moe: --preset: expected none for a trace without logits", prose, "--preset", "olmoe-1b-7b");
        Path other = temporary.resolve("other.safetensors");
        RoutingSource wide = RoutingSource.of(Routing.of(2 * EXPERTS, 1, new int[] {1, 2}, new double[2]));
        TraceWriter.write(other, Map.of("0", wide), Map.of());
        wrong(1, other + ": expected 12 experts, as in " + prose + ", but was 24", prose, other);
        Path fewer = indices(temporary.resolve("fewer.safetensors"), new int[][][] {PROSE[0]}, Map.of());
        wrong(1, fewer + ": expected the layers [0, 1, 2, 3], as in " + prose + ", but was [0]", prose, fewer);
    }
}
