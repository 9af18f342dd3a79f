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
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** One seed of the study from its arguments to its files, and the published page beside it and by itself. */
final class SharedBudgetCommandTest {
    private static final Path PUBLISHED = Path.of("..", "docs", "studies");
    private static final int SEEDS = 5;

    /** Learned numbers: what training makes of the last bits of another processor's products differs. */
    private static final Set<String> LEARNED =
            Set.of("loss", "loss_shared_off", "loss_routed_off", "loss_routed_instead");

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
                Moe.execute(commandLine, "study", "shared-budget", "--quick", "--json", "--out", folder.toString());
        assertThat(err.toString()).isEmpty();
        assertThat(status).isZero();
        root = new ObjectMapper().readTree(out.toString());
    }

    /** Values by what they are of: all cells but the last. */
    private static Map<String, Double> numbers(Path where) throws IOException {
        Map<String, Double> numbers = new LinkedHashMap<>();
        for (String line : Files.readAllLines(where.resolve("shared-budget.csv"))) {
            int comma = line.lastIndexOf(',');
            if (!line.endsWith(",value")) {
                numbers.put(line.substring(0, comma), Double.parseDouble(line.substring(comma + 1)));
            }
        }
        return numbers;
    }

    /** Budgets and the scale before training are the same everywhere; learned numbers are of the same order. */
    @Test
    void thePublishedNumbersAreThoseOfThisStudy() throws IOException {
        Map<String, Double> fresh = numbers(folder);
        Map<String, Double> published = numbers(PUBLISHED);
        assertThat(published.keySet()).containsAll(fresh.keySet());
        fresh.forEach((of, value) -> {
            String[] cells = of.split(",", -1);
            boolean exact = cells[3].equals("0") || cells[4].startsWith("stored") || cells[4].startsWith("active");
            double tolerance = exact ? 1e-9 : LEARNED.contains(cells[4]) ? 0.5 : Double.POSITIVE_INFINITY;
            if (tolerance < Double.POSITIVE_INFINITY) {
                assertThat(published.get(of)).as(of).isCloseTo(value, within(tolerance));
            }
        });
    }

    /** What the page says of the losses follows from the published numbers. */
    @ParameterizedTest
    @ValueSource(strings = {"common", "groups"})
    void thePublishedSentencesAreThoseOfThePublishedNumbers(String teacher) throws IOException {
        Map<String, Double> published = numbers(PUBLISHED);
        String page = Files.readString(PUBLISHED.resolve("shared-budget.md"));
        String sentence = page.substring(page.indexOf("- Teacher `" + teacher + "`"))
                .lines()
                .findFirst()
                .orElseThrow();
        for (String variant : List.of("additive", "fewer", "narrower")) {
            int lower = 0;
            for (int seed = 1; seed <= SEEDS; seed++) {
                String end = "," + seed + ",1200,loss";
                double none = published.get(teacher + ",none" + end);
                lower += published.get(teacher + "," + variant + end) < none ? 1 : 0;
            }
            String words = lower == SEEDS
                    ? "lower in every seed"
                    : lower == 0 ? "higher in every seed" : "lower in " + lower + " of " + SEEDS + " seeds";
            assertThat(sentence).contains("`" + variant + "` is " + words);
        }
    }

    /**
     * With the teacher that has a common part, and this seed: nothing is nearer than 0.1 to its limit. That it does not hold for the
     * other teacher is on the page.
     */
    @Test
    void aSharedExpertOfEitherKindHelpsWithACommonPart() {
        double none = ending("common", "none");
        assertThat(ending("common", "additive")).isLessThan(none);
        assertThat(ending("common", "fewer")).isLessThan(none);
    }

    private static double ending(String teacher, String variant) {
        for (JsonNode run : root.get("runs")) {
            if (run.get("teacher").asText().equals(teacher)
                    && run.get("variant").asText().equals(variant)) {
                return run.get("end").get("loss_over_teacher").asDouble();
            }
        }
        throw new AssertionError(teacher + ", " + variant);
    }

    @Test
    void jsonHasRunsScalesAndTimes() {
        assertThat(root.get("runs").size()).isEqualTo(2 * 4);
        JsonNode run = root.get("runs").get(2);
        assertThat(run.get("variant").asText()).isEqualTo("fewer");
        assertThat(run.get("stored").get("routed").asDouble()).isEqualTo(1512);
        assertThat(run.get("rows").get("routed").size()).isEqualTo(7);
        assertThat(run.get("rows").get("shared").asInt()).isEqualTo(4096);
        assertThat(run.get("loss_after_one_change").get("shared_off").isNumber())
                .isTrue();
        assertThat(root.get("runs")
                        .get(0)
                        .get("loss_after_one_change")
                        .get("shared_off")
                        .isNull())
                .isTrue();
        assertThat(root.get("start_rms").size()).isEqualTo(4);
        assertThat(root.get("times").get("indicative").asBoolean()).isTrue();
        assertThat(root.get("times").get("variants").size()).isEqualTo(4);
    }

    /** Times are never the same again, and no part of the files. */
    @Test
    void theFilesAreThere() throws IOException {
        assertThat(root.get("holds").asBoolean()).isTrue();
        assertThat(root.get("shortfall").isNull()).isTrue();
        List<String> files = new ArrayList<>();
        root.get("files").forEach(file -> files.add(file.asText()));
        assertThat(files)
                .containsExactly(
                        folder.resolve("shared-budget.csv").toString(),
                        folder.resolve("shared-budget.md").toString(),
                        folder.resolve("shared-budget.svg").toString(),
                        folder.resolve("shared-budget.png").toString());
        assertThat(Files.size(folder.resolve("shared-budget.png"))).isGreaterThan(10_000);
        assertThat(Files.readString(folder.resolve("shared-budget.md"))).doesNotContain("dispatch");
    }
}
