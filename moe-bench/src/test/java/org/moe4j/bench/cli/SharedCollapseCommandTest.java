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
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The study from its arguments to its files, at the sizes of {@code --quick}, and the published page beside it. */
final class SharedCollapseCommandTest {
    private static final Path PUBLISHED = Path.of("..", "docs", "studies");

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
        int status =
                Moe.execute(commandLine, "study", "shared-collapse", "--quick", "--json", "--out", folder.toString());
        assertThat(err.toString()).isEmpty();
        assertThat(status).isZero();
        root = new ObjectMapper().readTree(out.toString());
    }

    /** Limits written here, apart from those of the study: far on either side of them lies nothing. */
    @Test
    void oneFunctionToRoundingAndTwoWithGatesThatDiffer() {
        int collapsed = 0;
        for (JsonNode row : root.get("functions")) {
            double relative = row.get("difference").asDouble() / row.get("norm").asDouble();
            if (row.get("coefficients").asText().equals("distinct-gates")) {
                assertThat(relative).as("%s", row).isGreaterThan(0.2);
                assertThat(row.get("residual").asDouble()).as("%s", row).isGreaterThan(0.15);
            } else {
                collapsed++;
                boolean single = row.get("backend").asText().contains("float32");
                assertThat(relative).as("%s", row).isLessThan(single ? 1e-6 : 2e-15);
                assertThat(row.get("share_of_bound").asDouble()).as("%s", row).isLessThan(0.5);
            }
            assertThat(row.get("parts_parameters").asInt()).isEqualTo(432);
            assertThat(row.get("wide_parameters").asInt()).isEqualTo(432);
            assertThat(row.get("flops_per_token").asInt()).isEqualTo(2 * 432);
        }
        assertThat(collapsed).isEqualTo(3 * 6 * 3);
    }

    @Test
    void elementWiseOptimizersTrainBothFormsAlikeAndMuonDoesNot() {
        Set<String> apart = Set.of("muon", "adamw-state-lost", "sgd-gates", "adamw-biases");
        assertThat(root.get("trainings")).hasSize(10).allSatisfy(training -> {
            String name = training.get("case").asText();
            if (apart.contains(name)) {
                assertThat(training.get("last_deviation").asDouble()).as(name).isGreaterThan(0.1);
            } else {
                assertThat(training.get("largest_deviation").asDouble())
                        .as(name)
                        .isLessThan(1e-12);
            }
            assertThat(training.get("parts_loss").asDouble())
                    .as(name)
                    .isLessThan(0.2 * training.get("start_loss").asDouble());
        });
    }

    /**
     * Rounding is that of a processor, and so below its limit only; whatever is no rounding is the same number. The page also has
     * the report's size, which takes longer.
     */
    @Test
    void thePublishedPageIsThatOfThisStudy() throws IOException {
        List<String> fresh = Files.readAllLines(folder.resolve("shared-collapse.csv"));
        List<String> published = lines(PUBLISHED, "shared-collapse.csv")
                .filter(line -> !line.contains(",report,"))
                .toList();
        assertThat(published).hasSameSizeAs(fresh);
        assertThat(published.get(0)).isEqualTo(fresh.get(0));
        for (int i = 1; i < fresh.size(); i++) {
            String[] expected = fresh.get(i).split(",", -1);
            String[] actual = published.get(i).split(",", -1);
            assertThat(Arrays.copyOf(actual, 7)).containsExactly(Arrays.copyOf(expected, 7));
            double tolerance = tolerance(expected[0], expected[4], expected[6]);
            assertThat(Double.parseDouble(actual[7]))
                    .as(published.get(i))
                    .isCloseTo(Double.parseDouble(expected[7]), within(tolerance));
        }
        assertThat(words(PUBLISHED)).isEqualTo(words(folder));
    }

    /** Of numbers of the order of 1; a share of the bound is below 1 on every processor. */
    private static double tolerance(String part, String backend, String quantity) {
        if (quantity.equals("share_of_bound")) {
            return 1;
        }
        if (part.equals("training")) {
            return 1e-3; // 200 steps go on with the last bits of a processor
        }
        return backend.contains("float32") ? 1e-4 : 1e-10;
    }

    private static Stream<String> lines(Path where, String name) throws IOException {
        return Files.readAllLines(where.resolve(name)).stream();
    }

    /** The page without its numbers and without the report's size. */
    private static List<String> words(Path where) throws IOException {
        return lines(where, "shared-collapse.md")
                .filter(line -> !line.contains("| report |") && !line.contains("`report`"))
                .map(line -> line.replaceAll("\\d+(\\.\\d+)?(e[+-]\\d+)?", "#"))
                .filter(line -> !line.startsWith("- Cost."))
                .toList();
    }

    @Test
    void theFilesAreThere() throws IOException {
        assertThat(root.get("holds").asBoolean()).isTrue();
        assertThat(root.get("shortfall").isNull()).isTrue();
        assertThat(root.get("claims"))
                .allSatisfy(claim -> assertThat(claim.get("holds").asBoolean()).isTrue());
        List<String> files = new ArrayList<>();
        root.get("files").forEach(file -> files.add(file.asText()));
        assertThat(files)
                .containsExactly(
                        folder.resolve("shared-collapse.csv").toString(),
                        folder.resolve("shared-collapse.md").toString(),
                        folder.resolve("shared-collapse.svg").toString(),
                        folder.resolve("shared-collapse.png").toString());
        assertThat(Files.size(folder.resolve("shared-collapse.png"))).isGreaterThan(10_000);
    }
}
