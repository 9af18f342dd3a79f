package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The command from its arguments to its files, at the sizes of {@code --quick}. */
final class MergeScaleQuickTest {
    @TempDir
    static Path temporary;

    private static Path folder;
    private static JsonNode root;

    @BeforeAll
    static void run() throws IOException {
        folder = temporary.resolve("studies");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Moe.commandLine();
        commandLine.setOut(new PrintWriter(out));
        commandLine.setErr(new PrintWriter(err));
        int status = Moe.execute(commandLine, "study", "merge-scale", "--quick", "--json", "--out", folder.toString());
        assertThat(err.toString()).isEmpty();
        assertThat(status).isZero();
        root = new ObjectMapper().readTree(out.toString());
    }

    /** Written down from Figure 70 of the report, not taken from the program. */
    @Test
    void meansAreNearThePublishedOnes() {
        Map<String, List<Double>> published = Map.of(
                "output_rms", List.of(1.016, 0.411, 0.205, 0.216),
                "input_grad_rms_fixed", List.of(1.016, 0.410, 0.205, 0.216),
                "input_grad_rms_router", List.of(1.054, 0.417, 0.208, 0.225),
                "cosine", List.of(0.984, 0.812, 0.812, 0.970));
        List<String> conventions = List.of("olmo", "routed-unit-sum", "equal-branch-mass", "width-proportional");
        Map<String, Double> means = means();
        published.forEach((quantity, values) -> {
            for (int i = 0; i < conventions.size(); i++) {
                assertThat(means.get(conventions.get(i) + " " + quantity))
                        .as("%s of %s", quantity, conventions.get(i))
                        .isCloseTo(values.get(i), within(0.01));
            }
        });
        assertThat(means.get("- sum_p_squared")).isCloseTo(0.2589, within(0.002));
        assertThat(means.get("dense dense_routed_down_grad")).isCloseTo(0.98, within(0.01));
    }

    @Test
    void gradientRatiosAreExact() {
        Map<String, Double> means = means();
        assertThat(means.get("routed-unit-sum routed_down_grad_rms")).isCloseTo(1.0 / 4, within(1e-6));
        assertThat(means.get("equal-branch-mass routed_down_grad_rms")).isCloseTo(1.0 / 8, within(1e-6));
        assertThat(means.get("width-proportional routed_down_grad_rms")).isCloseTo(2.0 / 9, within(1e-6));
        assertThat(means.get("routed-unit-sum shared_down_grad_rms")).isCloseTo(1, within(1e-6));
        assertThat(means.get("equal-branch-mass shared_down_grad_rms")).isCloseTo(1.0 / 2, within(1e-6));
        assertThat(means.get("width-proportional shared_down_grad_rms")).isCloseTo(1.0 / 9, within(1e-6));
    }

    private static Map<String, Double> means() {
        Map<String, Double> means = new HashMap<>();
        root.get("rows")
                .forEach(row -> means.put(
                        row.get("convention").asText() + " "
                                + row.get("quantity").asText(),
                        row.get("mean").asDouble()));
        return means;
    }

    @Test
    void theCsvSaysTheSame() throws IOException {
        List<String> lines = Files.readAllLines(folder.resolve("merge-scale.csv"));
        assertThat(lines).hasSize(1 + root.get("rows").size());
        for (int i = 1; i < lines.size(); i++) {
            String[] cells = lines.get(i).split(",", -1);
            JsonNode row = root.get("rows").get(i - 1);
            assertThat(cells[0]).isEqualTo(row.get("panel").asText());
            assertThat(cells[1]).isEqualTo(row.get("convention").asText());
            assertThat(cells[2]).isEqualTo(row.get("quantity").asText());
            assertThat(Double.parseDouble(cells[3])).isEqualTo(row.get("mean").asDouble());
            assertThat(Double.parseDouble(cells[7]))
                    .isEqualTo(row.get("published").asDouble());
        }
    }

    @Test
    void allFourFilesAreThere() throws IOException {
        for (String name : List.of("merge-scale.csv", "merge-scale.md", "merge-scale.svg", "merge-scale.png")) {
            assertThat(folder.resolve(name)).isNotEmptyFile();
        }
        try (var files = Files.list(folder)) {
            assertThat(files).hasSize(4);
        }
        assertThat(root.get("files")).hasSize(4);
        assertThat(Path.of(root.get("files").get(0).asText())).isEqualTo(folder.resolve("merge-scale.csv"));
    }
}
