package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

final class TopKSweepCommandTest {
    @TempDir
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int moe(String... arguments) {
        CommandLine commandLine = Moe.commandLine();
        commandLine.setOut(new PrintWriter(out));
        commandLine.setErr(new PrintWriter(err));
        return Moe.execute(commandLine, arguments);
    }

    @Test
    void filesAndJsonHaveTheSameNumbers() throws IOException {
        int status = moe(
                "bench",
                "topk-sweep",
                "--quick",
                "--json",
                "--preset",
                "16,8,8,2",
                "--tokens",
                "3",
                "--top-k",
                "1,8",
                "--out",
                folder.toString());
        assertThat(err.toString()).isEmpty();
        assertThat(status).isZero();
        JsonNode root = new ObjectMapper().readTree(out.toString());
        assertThat(root.get("measures").asText()).isEqualTo("one layer, no model");
        assertThat(root.get("bytes_resident").asInt()).isEqualTo(8 * 3 * 16 * 8 * 2);
        assertThat(root.get("rows").findValuesAsText("top_k")).containsExactly("1", "2", "8");
        assertThat(root.get("rows").get(2).get("experts_touched").asInt()).isEqualTo(8);
        assertThat(root.get("rows").get(2).get("arithmetic_ratio").asDouble()).isEqualTo(4);
        assertThat(root.get("files")).hasSize(4);
        assertThat(Files.readString(folder.resolve("topk-sweep.csv")))
                .contains(
                        "\nvector-bf16,8,3,",
                        root.get("rows").get(2).get("ratio").asText());
        assertThat(Files.readString(folder.resolve("topk-sweep.md"))).contains("topk-sweep.svg");
        assertThat(folder.resolve("topk-sweep.png")).isNotEmptyFile();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--preset | 16,8,4 | --preset: expected D,F,E,K (four whole numbers) but was 16,8,4",
                "--preset | nosuch | --preset: expected one of [",
                "--tokens | 0 | --tokens: expected 1..1048575 (a matrix has at most 2^31 - 9 elements) but was 0",
                "--tokens | 2147483647 | --tokens: expected 1..1048575 (a matrix has at most 2^31 - 9 elements) but was 2",
                "--top-k | 1,65 | --top-k: expected 1..64 (experts) but was 65",
                "--backend | cuda | --backend: expected one of [vector, vector-bf16, nd4j] but was cuda",
                "--out | '' | --out: expected a folder but was empty"
            })
    void whatCannotBeIsWrongUsage(String option, String value, String line) {
        assertThat(moe("bench", "topk-sweep", option, value)).isEqualTo(2);
        assertThat(err.toString()).startsWith("moe: " + line);
        assertThat(out.toString()).isEmpty();
    }
}
