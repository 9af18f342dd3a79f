package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.cli.RunFixture.Numbers;
import org.moe4j.bench.cli.RunFixture.Outcome;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.testing.Tolerance;

/** {@code moe run} on every published family in miniature. Tolerances are fractions of a tensor's largest magnitude. */
final class RunCommandTest {
    private static final double DOUBLE = 1e-12;
    private static final double SINGLE = 2e-6;

    @TempDir
    private Path folder;

    static Stream<Arguments> runs() {
        return RunFixture.names().stream()
                .flatMap(name -> Stream.of("nd4j", "reference")
                        .flatMap(backend ->
                                Stream.of("float64", "float32").map(type -> Arguments.of(name, backend, type))));
    }

    private Map<String, Numbers> run(RunFixture fixture, Map<String, Numbers> input, String... options)
            throws IOException {
        Path output = folder.resolve("output.safetensors");
        Outcome outcome = fixture.run(RunFixture.write(folder.resolve("input.safetensors"), input), output, options);
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.status()).isZero();
        assertThat(outcome.out()).isEqualTo("Wrote " + output + System.lineSeparator());
        return RunFixture.read(output);
    }

    private static Map<String, Numbers> input(RunFixture fixture) {
        return Map.of("hidden_states", fixture.expected("hidden_states"), "d_output", fixture.expected("d_output"));
    }

    @ParameterizedTest
    @MethodSource("runs")
    void aLayerGivesWhatTheDefinitionGives(String name, String backend, String type) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        Map<String, Numbers> expected = new TreeMap<>(fixture.expected());
        expected.keySet().removeAll(Set.of("hidden_states", "d_output", "residual_output", "residual_topk_index"));
        assertNear(run(fixture, input(fixture), "--backend", backend, "--dtype", type), expected, type);
    }

    @ParameterizedTest
    @MethodSource("runs")
    void aBlockGivesWhatLayerAndNormsGive(String name, String backend, String type) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        BlockDefinition block = BlockDefinition.of(fixture);
        Map<String, Numbers> expected = block.expected(
                fixture.expected("hidden_states"),
                fixture.expected("d_output"),
                (tokens, dOutput) -> run(
                        fixture,
                        Map.of("hidden_states", tokens, "d_output", dOutput),
                        "--backend",
                        "reference",
                        "--dtype",
                        "float64"));
        assertNear(expected.get("output"), fixture.expected("residual_output"), DOUBLE, "output");
        assertThat(expected.get("topk_index").values())
                .isEqualTo(fixture.expected("residual_topk_index").values());
        assertNear(run(fixture, input(fixture), "--residual", "--backend", backend, "--dtype", type), expected, type);
    }

    private static void assertNear(Map<String, Numbers> actual, Map<String, Numbers> expected, String type) {
        assertThat(actual.keySet()).isEqualTo(new TreeSet<>(expected.keySet()));
        boolean single = type.equals("float32");
        expected.forEach((name, numbers) -> {
            if (name.equals("topk_index")) {
                assertThat(actual.get(name).type()).isEqualTo(ElementType.I64);
                assertThat(actual.get(name).values()).isEqualTo(numbers.values());
            } else {
                assertThat(actual.get(name).type()).isEqualTo(single ? ElementType.F32 : ElementType.F64);
                assertNear(actual.get(name), numbers, single ? SINGLE : DOUBLE, name);
            }
        });
    }

    private static void assertNear(Numbers actual, Numbers expected, double tolerance, String name) {
        assertThat(actual.shape()).as(name).isEqualTo(expected.shape());
        Tolerance.assertWithinMaxNorm(name, actual.values(), expected.values(), tolerance);
    }

    @ParameterizedTest
    @ValueSource(strings = {"olmoe", "deepseek-v3-fp8", "nemotron-3-latent", "gpt-oss-mxfp4", "olmo-hf-sigmoid"})
    void withoutTokensAllIsEmptyAndGradientsAreZero(String name) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        Numbers none = fixture.expected("hidden_states").rows(0, 0);
        for (String option : List.of("--backend=nd4j", "--backend=reference", "--residual")) {
            Map<String, Numbers> output = run(fixture, Map.of("hidden_states", none, "d_output", none), option);
            assertThat(output.get("output").shape()).containsExactly(0L, (long) none.columns());
            assertThat(output.get("router_logits").shape()).containsExactly(0L, (long)
                    fixture.expected("router_logits").columns());
            assertThat(output.get("topk_index").shape())
                    .containsExactly(0L, (long) fixture.expected("topk_index").columns());
            fixture.expected().forEach((tensor, numbers) -> {
                if (tensor.startsWith("grad.")) {
                    assertThat(output.get(tensor).shape()).isEqualTo(numbers.shape());
                    assertThat(output.get(tensor).values()).containsOnly(0);
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"olmoe", "deepseek-v3", "gpt-oss-bf16"})
    void oneTokenGivesItsOwnRow(String name) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        Map<String, Numbers> output = run(
                fixture,
                Map.of("hidden_states", fixture.expected("hidden_states").rows(1, 2)),
                "--dtype",
                "float64");
        assertThat(output.keySet()).containsExactly("output", "router_logits", "topk_index", "topk_weight");
        for (String tensor : List.of("output", "router_logits", "topk_weight")) {
            Numbers expected = fixture.expected(tensor).rows(1, 2);
            assertThat(Tolerance.distance(output.get(tensor).values(), expected.values()))
                    .isLessThanOrEqualTo(
                            DOUBLE * Tolerance.maxNorm(fixture.expected(tensor).values()));
        }
    }

    /** The same tokens again and again; only the first of each have a gradient, so that the gradients of weights stay what they are. */
    @ParameterizedTest
    @ValueSource(strings = {"olmoe", "qwen3-next", "deepseek-v3-fp8"})
    void manyTokensGiveTheirRows(String name) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        Map<String, Numbers> input = new HashMap<>();
        input.put("hidden_states", repeated(fixture.expected("hidden_states"), false));
        input.put("d_output", repeated(fixture.expected("d_output"), true));
        Map<String, Numbers> expected = new TreeMap<>();
        fixture.expected().forEach((tensor, numbers) -> {
            if (tensor.startsWith("grad.")) {
                expected.put(tensor, numbers);
            }
        });
        for (String tensor : List.of("output", "router_logits", "topk_index", "topk_weight")) {
            expected.put(tensor, repeated(fixture.expected(tensor), false));
        }
        expected.put("d_hidden_states", repeated(fixture.expected("d_hidden_states"), true));
        assertNear(run(fixture, input), expected, "float32");
    }

    private static Numbers repeated(Numbers rows, boolean once) {
        int many = 4096;
        double[] values = new double[many * rows.columns()];
        for (int i = 0; i < values.length; i++) {
            values[i] = once && i >= rows.values().length ? 0 : rows.values()[i % rows.values().length];
        }
        return Numbers.of(List.of((long) many, (long) rows.columns()), values);
    }

    @Test
    void sequencesKeepTheirShape() throws IOException {
        RunFixture fixture = RunFixture.named("mixtral");
        Numbers tokens = fixture.expected("hidden_states");
        long count = tokens.rows();
        for (Long[] sizes : new Long[][] {{1L, count}, {count, 1L}}) {
            Long[] shape = {sizes[0], sizes[1], (long) tokens.columns()};
            Map<String, Numbers> expected = new TreeMap<>(fixture.expected());
            expected.keySet().removeAll(Set.of("hidden_states", "d_output", "residual_output", "residual_topk_index"));
            expected.computeIfPresent("output", (name, numbers) -> numbers.as(shape));
            expected.computeIfPresent("d_hidden_states", (name, numbers) -> numbers.as(shape));
            Map<String, Numbers> input = Map.of(
                    "hidden_states",
                    tokens.as(shape),
                    "d_output",
                    fixture.expected("d_output").as(shape));
            assertNear(run(fixture, input, "--dtype", "float64"), expected, "float64");
        }
        for (Long[] shape : new Long[][] {{0L, 5L, (long) tokens.columns()}, {3L, 0L, (long) tokens.columns()}}) {
            Map<String, Numbers> output =
                    run(fixture, Map.of("hidden_states", tokens.rows(0, 0).as(shape)));
            assertThat(output.get("output").shape()).containsExactly(shape);
            assertThat(output.get("topk_weight").shape()).containsExactly(0L, 2L);
        }
    }

    /** The values are exact in all of them, so that the results have the same bits. */
    @Test
    void narrowInputIsReadExactly() throws IOException {
        RunFixture fixture = RunFixture.named("olmoe");
        double[] values = fixture.expected("hidden_states").values().clone();
        Arrays.setAll(values, i -> Math.rint(values[i] * 32) / 32);
        Numbers tokens = Numbers.of(fixture.expected("hidden_states").shape(), values);
        double[] expected =
                run(fixture, Map.of("hidden_states", tokens)).get("output").values();
        for (ElementType type : List.of(ElementType.F32, ElementType.F16, ElementType.BF16)) {
            assertThat(run(fixture, Map.of("hidden_states", tokens.as(type)))
                            .get("output")
                            .values())
                    .isEqualTo(expected);
        }
    }
}
