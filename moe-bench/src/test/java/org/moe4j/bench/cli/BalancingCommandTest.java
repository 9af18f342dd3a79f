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
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The whole study from its arguments to its files, and the published page beside it. */
final class BalancingCommandTest {
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
        int status = Moe.execute(commandLine, "study", "balancing", "--json", "--out", folder.toString());
        assertThat(err.toString()).isEmpty();
        assertThat(status).isZero();
        root = new ObjectMapper().readTree(out.toString());
    }

    private static void forEachRun(String method, Consumer<JsonNode> check) {
        List<JsonNode> found = new ArrayList<>();
        root.get("runs").forEach(run -> {
            if (run.get("method").asText().equals(method)) {
                found.add(run);
            }
        });
        assertThat(found).hasSize(3).allSatisfy(check);
    }

    private static double imbalance(JsonNode run, String point) {
        return run.get(point).get("max_over_mean").asDouble();
    }

    /** Half would do; what is measured is far below. */
    @Test
    void balancedStudentsHalveTheImbalanceOfTheStart() {
        for (String method : List.of("loss", "bias")) {
            forEachRun(method, run -> {
                assertThat(imbalance(run, "end")).isLessThan(0.45 * imbalance(run, "start"));
                assertThat(run.get("end").get("variation").asDouble())
                        .isLessThan(0.25 * run.get("start").get("variation").asDouble());
            });
        }
    }

    @Test
    void balancedStudentsReachTheirTeacher() {
        for (String method : List.of("loss", "bias")) {
            forEachRun(
                    method,
                    run -> assertThat(run.get("end").get("loss").asDouble())
                            .isLessThanOrEqualTo(1.05 * run.get("teacher_loss").asDouble()));
        }
    }

    /** This teacher's mixture is even, so that in time a student evens its load by learning; balanced ones do so much earlier. */
    @Test
    void balancedStudentsAreEvenEarlier() throws IOException {
        double none = overTraining("none");
        assertThat(overTraining("bias")).isLessThan(none - 0.2);
        assertThat(overTraining("loss")).isLessThan(none - 0.2);
    }

    /** Mean of the load of the fullest expert over all seeds and measurements. */
    private static double overTraining(String method) throws IOException {
        return Files.readAllLines(folder.resolve("balancing.csv")).stream()
                .map(line -> line.split(",", -1))
                .filter(cells -> cells[0].equals(method))
                .mapToDouble(cells -> Double.parseDouble(cells[3]))
                .average()
                .orElseThrow();
    }

    /**
     * The same start and the same teacher as on the published page; what training makes of the last bits of another processor's
     * products may differ, but not what the page says.
     */
    @Test
    void thePublishedPageIsThatOfThisStudy() throws IOException {
        List<String> fresh = Files.readAllLines(folder.resolve("balancing.csv"));
        List<String> published = Files.readAllLines(PUBLISHED.resolve("balancing.csv"));
        assertThat(published).hasSameSizeAs(fresh);
        assertThat(published.get(0)).isEqualTo(fresh.get(0));
        for (int i = 1; i < fresh.size(); i++) {
            String[] expected = fresh.get(i).split(",", -1);
            String[] actual = published.get(i).split(",", -1);
            assertThat(actual).hasSameSizeAs(expected).startsWith(expected[0], expected[1], expected[2]);
            double tolerance = expected[2].equals("0") ? 1e-9 : 0.5; // of numbers of the order of 1 after training
            for (int column = 3; column < 6; column++) {
                assertThat(Double.parseDouble(actual[column]))
                        .as(published.get(i))
                        .isCloseTo(Double.parseDouble(expected[column]), within(tolerance));
            }
            assertThat(Double.parseDouble(actual[6])).isCloseTo(Double.parseDouble(expected[6]), within(1e-12));
        }
        assertThat(words(PUBLISHED)).isEqualTo(words(folder));
    }

    /** The page without its numbers. */
    private static String words(Path where) throws IOException {
        return Files.readString(where.resolve("balancing.md")).replaceAll("\\d+(\\.\\d+)?", "#");
    }

    @Test
    void theFilesAreThere() throws IOException {
        assertThat(root.get("holds").asBoolean()).isTrue();
        assertThat(root.get("shortfall").isNull()).isTrue();
        List<String> files = new ArrayList<>();
        root.get("files").forEach(file -> files.add(file.asText()));
        assertThat(files)
                .containsExactly(
                        folder.resolve("balancing.csv").toString(),
                        folder.resolve("balancing.md").toString(),
                        folder.resolve("balancing.svg").toString(),
                        folder.resolve("balancing.png").toString());
        assertThat(Files.size(folder.resolve("balancing.png"))).isGreaterThan(10_000);
    }
}
