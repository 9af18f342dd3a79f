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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** A fifth of the study from its arguments to its files, and the published page beside it. */
final class ReparameterizationCommandTest {
    private static final Path PUBLISHED = Path.of("..", "docs", "studies");
    private static final String NAME = "reparameterization";

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
        int status = Moe.execute(commandLine, "study", NAME, "--quick", "--json", "--out", folder.toString());
        assertThat(err.toString()).isEmpty();
        assertThat(status).isZero();
        root = new ObjectMapper().readTree(out.toString());
    }

    /** 1e-9 would do; what is measured are a few roundings. */
    @Test
    void mappedSettingsFollowAndOthersDoNot() {
        int layers = 0;
        for (JsonNode run : root.get("runs")) {
            for (JsonNode layer : run.get("layers")) {
                layers++;
                double deviation = Math.max(
                        layer.get("function_deviation").asDouble(),
                        layer.get("parameter_deviation").asDouble());
                String treatment = layer.get("treatment").asText();
                if (List.of("mapped", "clipped-back", "halfway").contains(treatment)) {
                    assertThat(deviation).as(layer.toString()).isLessThanOrEqualTo(1e-13);
                } else if (treatment.equals("without-epsilon")) {
                    assertThat(deviation).as(layer.toString()).isBetween(1e-8, 1e-4);
                } else {
                    assertThat(deviation).as(layer.toString()).isGreaterThan(1e-2);
                }
            }
        }
        assertThat(layers).isEqualTo(3 * (5 + 7 + 8 + 8));
    }

    @Test
    void powersOfTwoChangeNoBit() {
        for (JsonNode run : root.get("runs")) {
            for (JsonNode layer : run.get("layers")) {
                if (layer.get("follows").asBoolean()
                        && !layer.get("convention").asText().equals("width-proportional")) {
                    assertThat(layer.get("function_deviation").asDouble()).isZero();
                    assertThat(layer.get("parameter_deviation").asDouble()).isZero();
                }
            }
        }
    }

    /**
     * Up to half of these steps the published run took the same ones; of another processor's products the last bits differ, of which
     * the smallest deviations consist.
     */
    @Test
    void thePublishedPageIsThatOfThisStudy() throws IOException {
        Map<String, double[]> published = deviations(PUBLISHED);
        int compared = 0;
        for (Map.Entry<String, double[]> line : deviations(folder).entrySet()) {
            if (line.getKey().contains(",halfway")) {
                continue; // of another step
            }
            double[] expected = line.getValue();
            assertThat(published).containsKey(line.getKey());
            for (int i = 0; i < 2; i++) {
                assertThat(published.get(line.getKey())[i])
                        .as(line.getKey())
                        .isCloseTo(expected[i], within(1e-12 + 1e-4 * expected[i]));
            }
            compared++;
        }
        assertThat(compared).isEqualTo(3 * (5 + 5 + 6 + 6) * 5);
        assertThat(words(PUBLISHED)).isEqualTo(words(folder));
    }

    /** Function and parameters of every line, by all that stands before them. */
    private static Map<String, double[]> deviations(Path where) throws IOException {
        Map<String, double[]> deviations = new LinkedHashMap<>();
        for (String line : Files.readAllLines(where.resolve(NAME + ".csv"))) {
            String[] cells = line.split(",", -1);
            if (!cells[0].equals("optimizer")) {
                deviations.put(
                        String.join(",", List.of(cells).subList(0, 6)),
                        new double[] {Double.parseDouble(cells[6]), Double.parseDouble(cells[7])});
            }
        }
        return deviations;
    }

    /** The page without its numbers. */
    private static String words(Path where) throws IOException {
        return Files.readString(where.resolve(NAME + ".md")).replaceAll("\\d+(\\.\\d+)?(e[-+]\\d+)?", "#");
    }

    @Test
    void theFilesAreThere() throws IOException {
        assertThat(root.get("holds").asBoolean()).isTrue();
        assertThat(root.get("shortfall").isNull()).isTrue();
        assertThat(root.get("steps").asInt()).isEqualTo(40);
        List<String> files = new ArrayList<>();
        root.get("files").forEach(file -> files.add(file.asText()));
        assertThat(files)
                .containsExactly(
                        folder.resolve(NAME + ".csv").toString(),
                        folder.resolve(NAME + ".md").toString(),
                        folder.resolve(NAME + ".svg").toString(),
                        folder.resolve(NAME + ".png").toString());
        assertThat(Files.size(folder.resolve(NAME + ".png"))).isGreaterThan(10_000);
    }
}
