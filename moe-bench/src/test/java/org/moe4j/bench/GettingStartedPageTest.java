package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.bench.cli.DocumentedCommands;
import org.moe4j.core.preset.Preset;

/** The programs of docs/getting-started.md compile as they stand, run, and print what their definitions give. */
final class GettingStartedPageTest {
    private static final Path FIXTURE =
            Path.of("..", "moe-checkpoint", "src", "test", "resources", "fixtures", "olmoe");

    @TempDir
    static Path classes;

    private static JavaBlocks page;

    @TempDir
    private Path folder;

    @BeforeAll
    static void compile() throws IOException {
        page = JavaBlocks.compile("docs/getting-started.md", classes);
    }

    @AfterAll
    static void close() throws IOException {
        page.close();
    }

    private static double number(List<String> line, int place) {
        return Double.parseDouble(line.get(place));
    }

    @Test
    void everyProgramOfThePageIsRun() {
        assertThat(page.names())
                .containsExactly("FirstLayer", "TrainAndSave", "RoutingWeights", "CompareFiles", "TimeBackends");
    }

    /** Two softmax scores of eight, the larger first; a router and eight experts of three matrices. */
    @Test
    void aFirstLayerRoutesTokensAndHasAllGradients() throws ReflectiveOperationException {
        List<List<String>> lines = page.run("FirstLayer");
        assertThat(lines).hasSize(7);
        for (List<String> token : lines.subList(0, 5)) {
            double first = number(token, 6);
            double second = number(token, 7);
            assertThat(token.get(3)).isNotEqualTo(token.get(4));
            assertThat(first).isGreaterThanOrEqualTo(second).isGreaterThan(1.0 / 8);
            assertThat(first + second).isLessThan(1);
            assertThat(number(token, 10)).isNotZero();
        }
        assertThat(lines.get(5)).endsWith("5", "x", "16");
        assertThat(lines.get(6)).endsWith(Integer.toString(1 + 8 * 3));
    }

    /** Outputs of a fresh layer are near 0, so the loss begins at the mean of ½·Σx² over 8 uniform numbers of ±2: 8·½·4/3. */
    @Test
    void trainingLearnsAndWhatWasSavedIsReadBack() throws ReflectiveOperationException {
        List<List<String>> lines =
                page.run("TrainAndSave", folder.resolve("layer.safetensors").toString());
        assertThat(lines).hasSize(5);
        assertThat(number(lines.get(0), 3)).isBetween(0.5 * 16 / 3, 2.0 * 16 / 3);
        assertThat(number(lines.get(3), 3)).isLessThan(number(lines.get(0), 3) / 10);
        assertThat(lines.subList(0, 4))
                .allSatisfy(
                        line -> assertThat(number(line, 5)).isBetween(0.0099, 0.04)); // 0.01 when even, at most E times
        assertThat(lines.get(4)).containsExactly("same", "output:", "true");
    }

    @Test
    void weightsAreThoseOfSoftmaxAndTopK() throws ReflectiveOperationException {
        double all = Math.exp(2) + Math.exp(1) + 1 + Math.exp(-1);
        double two = Math.exp(2) + Math.exp(1);
        List<List<String>> lines = page.run("RoutingWeights");
        double[] sums = {all, two, two}; // in the order of the names
        assertThat(lines).hasSize(3);
        for (int i = 0; i < 3; i++) {
            List<String> line = lines.get(i);
            int end = line.size();
            assertThat(line.subList(end - 6, end - 4)).containsExactly("expert", "0");
            assertThat(number(line, end - 4)).isCloseTo(Math.exp(2) / sums[i], within(1e-12));
            assertThat(number(line, end - 1)).isCloseTo(Math.exp(1) / sums[i], within(1e-12));
        }
    }

    /** The script that made the fixture's results knows nothing of the library. */
    @Test
    void filesAreComparedTensorByTensor() throws ReflectiveOperationException {
        Path expected = FIXTURE.resolve("expected.safetensors");
        Path ours = folder.resolve("ours.safetensors");
        DocumentedCommands.Outcome outcome = DocumentedCommands.run(List.of(
                "run",
                FIXTURE.toString(),
                "--layer",
                "1",
                "--input",
                expected.toString(),
                "--output",
                ours.toString(),
                "--dtype",
                "float32"));
        assertThat(outcome.status()).as(outcome.err()).isZero();
        List<List<String>> lines = page.run("CompareFiles", ours.toString(), expected.toString(), "32");
        assertThat(lines).hasSize(31); // output, four of the routing's and the tokens', 25 gradients, the sum
        assertThat(lines.get(30)).startsWith("0", "of", "30");
        String last = String.join(" ", lines.get(30));
        assertThat(last).contains("not compared").contains("residual_output").doesNotContain("grad.");

        List<List<String>> strict = page.run("CompareFiles", ours.toString(), expected.toString(), "0");
        assertThat(strict.get(30).get(0)).as("with a bound of 0").isNotEqualTo("0");
    }

    @Test
    void backendsAreTimedInTurn() throws ReflectiveOperationException {
        List<List<String>> lines = page.run("TimeBackends", "32", "16", "8", "2", "16", "20");
        assertThat(lines).hasSize(4);
        assertThat(lines.get(1).get(0)).isEqualTo("vector");
        assertThat(lines.get(2).get(0)).isEqualTo("nd4j");
        assertThat(lines.subList(1, 3))
                .allSatisfy(line -> assertThat(number(line, 2)).isGreaterThanOrEqualTo(number(line, 5)));
        assertThat(number(lines.get(3), 3)).isPositive();
    }

    @Test
    void presetsOfTheTableExist() throws IOException {
        String text = java.nio.file.Files.readString(Path.of("..", "docs", "getting-started.md"));
        String table = text.substring(text.indexOf("| block of Transformers"), text.indexOf("### The three ways"));
        List<String> named = java.util.regex.Pattern.compile("`([a-z0-9.]+(?:-[a-z0-9.]+)+)`")
                .matcher(table)
                .results()
                .map(found -> found.group(1))
                .toList();
        assertThat(named).hasSizeGreaterThan(10).isSubsetOf(Preset.names());
    }
}
