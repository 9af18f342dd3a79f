package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.config.ModelConfig;
import picocli.CommandLine;

/** The command {@code moe rewrite} on miniature checkpoints. */
class RewriteCommandTest {
    private static final Path FIXTURES = Path.of("..", "moe-checkpoint", "src", "test", "resources", "fixtures");

    @TempDir
    private Path folder;

    private int status;
    private List<String> out = List.of();
    private List<String> err = List.of();

    private void rewrite(String fixture, String... options) {
        StringWriter printed = new StringWriter();
        StringWriter logged = new StringWriter();
        CommandLine commandLine = Moe.commandLine();
        commandLine.setOut(new PrintWriter(printed));
        commandLine.setErr(new PrintWriter(logged));
        List<String> arguments =
                new ArrayList<>(List.of("rewrite", FIXTURES.resolve(fixture).toString()));
        arguments.addAll(List.of(options));
        status = Moe.execute(commandLine, arguments.toArray(new String[0]));
        out = printed.toString().lines().toList();
        err = logged.toString().lines().toList();
    }

    private String target() {
        return folder.resolve("out").toString();
    }

    private void assertNothingWritten() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).isEmpty();
        }
        assertThat(out).isEmpty();
    }

    private void assertRefused(String message) throws IOException {
        assertThat(status).isEqualTo(1);
        assertThat(err).containsExactly("moe: " + message);
        assertNothingWritten();
    }

    private void assertWrongUsage(String message) throws IOException {
        assertThat(status).isEqualTo(2);
        assertThat(err).containsExactly("moe: " + message, "Try 'moe rewrite --help'.");
        assertNothingWritten();
    }

    @Test
    void whatWasDoneIsPrinted() {
        rewrite("deepseek-v2", "--out", target(), "--absorb-routed-scale");
        assertThat(err).isEmpty();
        assertThat(status).isZero();
        assertThat(out).hasSize(9);
        assertThat(out.get(0)).isEqualTo("layer  difference  as stored");
        assertThat(out.get(1)).isEqualTo("-".repeat(28));
        assertThat(out.get(2)).matches("    1 +(0|[0-9]\\.[0-9]e-1[3-9]) +(0|[0-9]\\.[0-9]e-1[3-9])");
        assertThat(out.subList(3, 9))
                .containsExactly(
                        "differences of outputs before and after, as parts of the largest output",
                        "routed down projections: times 16.0",
                        "config.json: routed_scaling_factor: 16.0 -> 1.0",
                        "tensors: 12 rewritten, 54 as they were",
                        "rounding of stored values: none",
                        "Wrote " + target());
    }

    @Test
    void theSameFactsArePrintedAsJson() throws IOException {
        rewrite("deepseek-v2", "--out", target(), "--absorb-routed-scale", "--json");
        assertThat(err).isEmpty();
        assertThat(status).isZero();
        JsonNode root = new ObjectMapper().readTree(String.join("\n", out));
        assertThat(root.fieldNames())
                .toIterable()
                .containsExactly("path", "out", "layers", "routed_down_factor", "settings", "tensors", "rounding");
        assertThat(root.at("/path").asText())
                .isEqualTo(FIXTURES.resolve("deepseek-v2").toString());
        assertThat(root.at("/out").asText()).isEqualTo(target());
        assertThat(root.get("layers")).hasSize(1);
        assertThat(root.at("/layers/0/layer").asInt()).isEqualTo(1);
        assertThat(root.at("/layers/0/difference").asDouble(1)).isBetween(0.0, 1e-12);
        assertThat(root.at("/layers/0/difference_as_stored").asDouble(1)).isBetween(0.0, 1e-12);
        assertThat(root.at("/routed_down_factor").asDouble()).isEqualTo(16);
        assertThat(root.get("settings").toString())
                .isEqualTo("[{\"key\":\"routed_scaling_factor\",\"before\":\"16.0\",\"after\":\"1.0\"}]");
        assertThat(root.get("tensors").toString()).isEqualTo("{\"rewritten\":12,\"kept\":54}");
        assertThat(root.get("rounding").toString()).isEqualTo("{\"numbers\":2880,\"rounded\":0,\"largest\":0.0}");
    }

    @Test
    void operationsAreDoneInTheirOrder() throws IOException {
        rewrite("kimi-k2", "--dtype", "bf16", "--absorb-routed-scale", "--out", target());
        assertThat(status).isZero();
        assertThat(out)
                .anyMatch(
                        line -> line.matches(
                                "rounding of stored values: [0-9,]+ of [0-9,]+ numbers, by at most [0-9]\\.[0-9]e-03 of a number"));
        Path other = scaledOlmo();
        rewrite(
                other.toString(),
                "--to-convention",
                "routed-unit-sum",
                "--absorb-routed-scale",
                "--out",
                target() + "2");
        assertThat(status).isEqualTo(1);
        assertThat(err)
                .containsExactly("moe: " + other + ": to-convention: expected a router without a scale but was 2.0;"
                        + " absorb-routed-scale first");
        rewrite(
                other.toString(),
                "--absorb-routed-scale",
                "--to-convention",
                "routed-unit-sum",
                "--out",
                target() + "3");
        assertThat(status).isZero();
        assertThat(out)
                .contains(
                        "routed down projections: times 4.0",
                        "config.json: original_num_experts_per_tok: 8 -> null",
                        "config.json: restore_weight_scale: true -> false",
                        "rounding of stored values: none");
    }

    /** Olmo's export with two experts for a token instead of eight. */
    private Path scaledOlmo() throws IOException {
        Path other = Files.createDirectory(folder.resolve("olmo"));
        Path original = FIXTURES.resolve("olmo-hf");
        Files.copy(original.resolve("model.safetensors"), other.resolve("model.safetensors"));
        String config = Files.readString(original.resolve("config.json"));
        Files.writeString(
                other.resolve("config.json"),
                config.replace("\"original_num_experts_per_tok\": null", "\"original_num_experts_per_tok\": 8"));
        return other;
    }

    @Test
    void theTypeIsChosen() throws IOException {
        rewrite("gpt-oss-mxfp4", "--dtype", "f32", "--out", target());
        assertThat(status).isZero();
        assertThat(ModelConfig.read(folder.resolve("out")).text("quantization_config"))
                .isEmpty();
        try (MoeCheckpoint written = MoeCheckpoint.open(folder.resolve("out"))) {
            assertThat(written.moeLayers()).isNotEmpty();
        }
    }

    @Test
    void whatIsNotExactOrCannotBeSaidIsRefused() throws IOException {
        Path folderOf = FIXTURES.resolve("mixtral");
        rewrite("mixtral", "--out", target(), "--absorb-routed-scale");
        assertRefused(folderOf + ": absorb-routed-scale: expected a family whose config.json has a routed scale but was"
                + " Mixtral");
        rewrite("deepseek-v3", "--out", target(), "--collapse-shared");
        assertRefused(
                FIXTURES.resolve("deepseek-v3") + ": collapse-shared: expected a family that stores shared experts"
                        + " one by one but was DeepSeek-V3, which stores one of width 14");
        rewrite("qwen3-next", "--out", target(), "--split-shared", "4,6");
        assertRefused(
                FIXTURES.resolve("qwen3-next") + ": split-shared: expected a family that stores shared experts one"
                        + " by one but was Qwen3-Next, which stores one of width 16");
        rewrite("nothing", "--out", target(), "--dtype", "f32");
        assertThat(status).isEqualTo(1);
        assertNothingWritten();
    }

    @Test
    void wrongUsageIsSaid() throws IOException {
        rewrite("olmoe", "--out", target());
        assertWrongUsage("OPERATION: expected at least one of --absorb-routed-scale, --to-convention, --dtype,"
                + " --collapse-shared and --split-shared but was none");
        rewrite("olmoe", "--dtype", "f32");
        assertWrongUsage("Missing required option: '--out=DIR'");
        rewrite("olmoe", "--out", target(), "--dtype", "f16");
        assertWrongUsage("Invalid value for option '--dtype': expected bf16 or f32 but was f16");
        rewrite("olmoe", "--out", target(), "--to-convention", "sum");
        assertWrongUsage("Invalid value for option '--to-convention': expected one of [olmo, routed-unit-sum,"
                + " equal-branch-mass, width-proportional] but was sum");
        rewrite("olmoe", "--out", target(), "--split-shared", "3,0");
        assertWrongUsage("--split-shared: expected widths of at least 1 but was [3, 0]");
        rewrite("olmoe", "--out", "", "--dtype", "f32");
        assertWrongUsage("--out: expected a path but was empty");
    }
}
