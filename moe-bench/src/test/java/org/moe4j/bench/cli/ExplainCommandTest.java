package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.bench.cli.RunFixture.Numbers;
import org.moe4j.bench.cli.RunFixture.Outcome;

/** {@code moe explain} on every published family in miniature, beside what their own definitions give. */
final class ExplainCommandTest {
    private static final int TOKEN = 1;
    private static final double DOUBLE = 1e-11; // of the largest magnitude; sums of a few dozen products in double

    @TempDir
    private Path folder;

    static Stream<String> families() {
        return RunFixture.names().stream();
    }

    private Outcome explain(RunFixture fixture, Map<String, Numbers> input, String... options) throws IOException {
        Path file = RunFixture.write(folder.resolve("input.safetensors"), input);
        List<String> arguments = new ArrayList<>(
                List.of("explain", fixture.folder().toString(), "--layer", "" + fixture.layer(), "--input"));
        arguments.add(file.toString());
        arguments.addAll(List.of(options));
        return RunFixture.moe(arguments);
    }

    private JsonNode facts(RunFixture fixture, Map<String, Numbers> input, String... options) throws IOException {
        List<String> all = new ArrayList<>(List.of("--json", "--dtype", "float64"));
        all.addAll(List.of(options));
        Outcome outcome = explain(fixture, input, all.toArray(String[]::new));
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.status()).isZero();
        return new ObjectMapper().readTree(outcome.out());
    }

    private static Map<String, Numbers> input(RunFixture fixture) {
        return Map.of("hidden_states", fixture.expected("hidden_states"), "d_output", fixture.expected("d_output"));
    }

    private static double[] row(RunFixture fixture, String name) {
        return fixture.expected(name).rows(TOKEN, TOKEN + 1).values();
    }

    private static double length(double[] numbers) {
        return Math.sqrt(Arrays.stream(numbers).map(number -> number * number).sum());
    }

    private static double fact(JsonNode root, String key) {
        for (JsonNode row : root.get("facts")) {
            if (row.get("fact").asText().equals(key)) {
                return row.get("value").asDouble();
            }
        }
        throw new AssertionError(key + " in " + root.get("facts"));
    }

    private static double change(JsonNode root, String name, String column) {
        for (JsonNode row : root.get("changes")) {
            if (row.get("change").asText().equals(name)) {
                return row.get(column).asDouble();
            }
        }
        throw new AssertionError(name + " in " + root.get("changes"));
    }

    @ParameterizedTest
    @MethodSource("families")
    void piecesAreThoseOfTheDefinition(String name) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        JsonNode root = facts(fixture, input(fixture), "--token", "" + TOKEN);
        double[] output = row(fixture, "output");
        double[] logits = row(fixture, "router_logits");
        double largestLogit = Arrays.stream(logits).map(Math::abs).max().orElseThrow();
        List<Integer> chosen = new ArrayList<>();
        for (int rank = 0; rank < root.get("experts").size(); rank++) {
            JsonNode expert = root.get("experts").get(rank);
            int index = (int) row(fixture, "topk_index")[rank];
            chosen.add(index);
            assertThat(expert.get("expert").asInt()).isEqualTo(index);
            assertThat(expert.get("logit").asDouble()).isCloseTo(logits[index], within(DOUBLE * largestLogit));
            assertThat(expert.get("coefficient").asDouble())
                    .isCloseTo(row(fixture, "topk_weight")[rank], within(DOUBLE * 10));
        }
        assertThat(chosen).hasSize(fixture.facts().get("top_k").asInt());
        assertThat(fact(root, "logits_matching")).isEqualTo(logits.length);
        assertThat(fact(root, "length")).isCloseTo(length(output), within(DOUBLE * length(output)));
        assertThat(fact(root, "length_by_hand")).isCloseTo(length(output), within(DOUBLE * length(output)));
        assertThat(fact(root, "difference")).isLessThanOrEqualTo(DOUBLE * length(output));
        JsonNode gradients = root.get("gradients").get(0);
        assertThat(gradients.get("which").asText())
                .isEqualTo(String.join(
                        " ", chosen.stream().sorted().map(String::valueOf).toList()));
        assertThat(root.get("precision")).hasSize(3);
        assertThat(root.get("changes")).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("families")
    void whatLeavesTheBlockIsTheDefinitions(String name) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        JsonNode root = facts(fixture, input(fixture), "--token", "" + TOKEN, "--residual");
        double expected = length(row(fixture, "residual_output"));

        assertThat(fact(root, "block_length")).isCloseTo(expected, within(DOUBLE * expected));
        assertThat(fact(root, "residual_length"))
                .isCloseTo(length(row(fixture, "hidden_states")), within(DOUBLE * expected));
        List<Integer> chosen = new ArrayList<>();
        root.get("experts").forEach(expert -> chosen.add(expert.get("expert").asInt()));
        assertThat(chosen)
                .isEqualTo(Arrays.stream(row(fixture, "residual_topk_index"))
                        .mapToObj(index -> (int) index)
                        .toList());
        assertThat(root.get("gradients")).isEmpty();
    }

    /** With one token, removing an expert takes away just what it adds; masking one that is not chosen changes nothing. */
    @ParameterizedTest
    @MethodSource("families")
    void removingAnExpertTakesAwayWhatItAdds(String name) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        Map<String, Numbers> one =
                Map.of("hidden_states", fixture.expected("hidden_states").rows(TOKEN, TOKEN + 1));
        double[] chosen = row(fixture, "topk_index");
        int best = (int) chosen[0];
        int experts = fixture.facts().get("experts").asInt();
        int other = 0;
        for (int e = 0; e < experts; e++) {
            int expert = e;
            if (Arrays.stream(chosen).noneMatch(index -> index == expert)) {
                other = e;
            }
        }
        JsonNode without = facts(fixture, one, "--without", "" + best);
        JsonNode idle = facts(fixture, one, "--without", "" + other, "--top-k", "" + chosen.length);
        double added = without.get("experts").get(0).get("contribution").asDouble();
        double width = Math.sqrt(row(fixture, "output").length);

        assertThat(change(without, "without " + best + ", after it, weight lost", "difference_rms"))
                .isCloseTo(added / width, within(DOUBLE * length(row(fixture, "output"))));
        for (JsonNode row : idle.get("changes")) {
            if (!row.get("change").asText().contains("before the choice")) { // a masked expert may close its group
                assertThat(row.get("difference_rms").asDouble())
                        .isLessThanOrEqualTo(DOUBLE * length(row(fixture, "output")));
                assertThat(row.get("cosine").asDouble()).isCloseTo(1, within(DOUBLE));
            }
        }
    }

    @Test
    void tablesSayWhatIsMissing() throws IOException {
        RunFixture fixture = RunFixture.named("deepseek-v3");
        Numbers tokens = fixture.expected("hidden_states");
        Outcome outcome = explain(fixture, Map.of("hidden_states", tokens, "extra", tokens), "--without-shared");

        assertThat(outcome.status()).isZero();
        assertThat(outcome.out())
                .contains("Experts of the token, best first")
                .contains("Shared experts")
                .contains("(the input has no d_output of the layer)")
                .contains("without shared experts");
        assertThat(outcome.err()).contains("extra is not used");
    }

    @Test
    void wrongOptionsAreWrongUsage() throws IOException {
        RunFixture fixture = RunFixture.named("olmoe");
        Map<String, Numbers> input = input(fixture);
        int experts = fixture.facts().get("experts").asInt();
        int tokens = fixture.facts().get("tokens").asInt();

        wrong(explain(fixture, input, "--token", "" + tokens), "--token: expected 0.." + (tokens - 1));
        wrong(explain(fixture, input, "--token", "-1"), "but was -1");
        wrong(explain(fixture, input, "--without", "0," + experts), "--without: expected 0.." + (experts - 1));
        wrong(explain(fixture, input, "--keep", "0"), "--keep: expected 1.." + experts);
        wrong(explain(fixture, input, "--top-k", "" + (experts + 1)), "--top-k: expected 1.." + experts);
        wrong(explain(fixture, input, "--without-shared"), "--without-shared: expected a layer with a shared expert");
        fails(
                explain(
                        fixture,
                        Map.of(
                                "hidden_states",
                                fixture.expected("hidden_states").rows(0, 0))),
                "expected at least 1 token in hidden_states but was 0");
        assertThat(explain(fixture, input, "--backend", "none").status()).isEqualTo(2);
        assertThat(RunFixture.moe(List.of("explain", "", "--layer", "0", "--input", "x"))
                        .status())
                .isEqualTo(2);
    }

    private static void wrong(Outcome outcome, String line) {
        assertThat(outcome.status()).isEqualTo(2);
        assertThat(outcome.err()).startsWith("moe: ").contains(line).hasLineCount(2); // and a hint
        assertThat(outcome.out()).isEmpty();
    }

    private static void fails(Outcome outcome, String line) {
        assertThat(outcome.status()).isEqualTo(1);
        assertThat(outcome.err()).startsWith("moe: ").contains(line).hasLineCount(1);
        assertThat(outcome.out()).isEmpty();
    }
}
