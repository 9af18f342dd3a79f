package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.cli.RunFixture.Numbers;
import org.moe4j.bench.cli.RunFixture.Outcome;

/** The losses that a configuration names, by their formulas: printed, and in the gradients when they are asked for. */
final class RunCommandLossesTest {
    @TempDir
    private Path folder;

    /** What a run gave: lines on standard output, and tensors. */
    private record Ran(List<String> lines, Map<String, Numbers> tensors) {
        double loss(String name) {
            assertThat(lines).hasSize(2);
            assertThat(lines.get(0)).startsWith("auxiliary loss: ").endsWith(" (" + name + ")");
            return Double.parseDouble(lines.get(0).split(" ", -1)[2]);
        }
    }

    private Ran run(RunFixture fixture, Map<String, Numbers> input, String... options) throws IOException {
        Path output = folder.resolve("output.safetensors");
        List<String> all = new ArrayList<>(List.of("--dtype", "float64"));
        all.addAll(List.of(options));
        Outcome outcome = fixture.run(
                RunFixture.write(folder.resolve("input.safetensors"), input), output, all.toArray(String[]::new));
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.status()).isZero();
        return new Ran(outcome.out().lines().toList(), RunFixture.read(output));
    }

    /** {@code α · E/κ · mean over sequences of Σ_e c_e/S · Σ_s p_se/S}, with counts as constants, and what it adds to the gradients. */
    private record Balance(double coefficient, int sequences, boolean perChoice) {
        double value(double[] p, int[][] chosen) {
            return term(p, chosen, new double[p.length]);
        }

        /** The loss; its gradient in p goes to {@code dP}. */
        double term(double[] p, int[][] chosen, double[] dP) {
            int tokens = chosen.length;
            int experts = p.length / tokens;
            int length = tokens / sequences;
            double factor = coefficient * experts / (perChoice ? chosen[0].length : 1) / sequences;
            double sum = 0;
            for (int b = 0; b < sequences; b++) {
                double[] counts = new double[experts];
                for (int t = b * length; t < (b + 1) * length; t++) {
                    for (int e : chosen[t]) {
                        counts[e] += 1.0 / length;
                    }
                }
                for (int t = b * length; t < (b + 1) * length; t++) {
                    for (int e = 0; e < experts; e++) {
                        dP[t * experts + e] = factor * counts[e] / length;
                        sum += dP[t * experts + e] * p[t * experts + e];
                    }
                }
            }
            return sum;
        }
    }

    /** Mixtral's does not know of sequences; DeepSeek's is of each, and of the batch where the configuration says so. */
    @ParameterizedTest
    @CsvSource({
        "mixtral, transformers, 0.02, 1, false",
        "olmoe, transformers, 0.01, 1, false",
        "deepseek-moe, deepseek-sequence, 0.001, 2, true"
    })
    void lossesAreAddedToTheGradients(String name, String loss, double coefficient, int sequences, boolean perChoice)
            throws IOException {
        RunFixture fixture = RunFixture.named(name);
        int half = fixture.expected("hidden_states").rows() / 2;
        long width = fixture.expected("hidden_states").columns();
        Map<String, Numbers> input = new HashMap<>();
        for (String tensor : List.of("hidden_states", "d_output")) {
            input.put(tensor, fixture.expected(tensor).rows(0, 2 * half).as(2L, (long) half, width));
        }
        Ran plain = run(fixture, input);
        Ran with = run(fixture, input, "--with-losses");
        assertThat(plain.lines()).hasSize(1);
        Balance balance = new Balance(coefficient, sequences, perChoice);
        Numbers logits = with.tensors().get("router_logits");
        double[] p = softmax(logits);
        double[] dP = new double[p.length];
        double value = balance.term(p, chosen(with.tensors().get("topk_index")), dP);
        assertThat(with.loss(loss)).isCloseTo(value, within(1e-12 * value));
        assertThat(with.tensors().get("output").values())
                .isEqualTo(plain.tensors().get("output").values());
        double[] dLogits = throughSoftmax(p, dP, logits.columns());
        String router = "grad.model.layers." + fixture.layer()
                + (name.equals("mixtral") ? ".block_sparse_moe.gate.weight" : ".mlp.gate.weight");
        double[] x = input.get("hidden_states").values();
        double[] added = new double[logits.columns() * (int) width];
        for (int t = 0; t < 2 * half; t++) {
            for (int i = 0; i < added.length; i++) {
                added[i] += dLogits[t * logits.columns() + i / (int) width] * x[t * (int) width + i % (int) width];
            }
        }
        assertDifference(with.tensors().get(router), plain.tensors().get(router), added);
    }

    private static void assertDifference(Numbers with, Numbers without, double[] expected) {
        double largest = 0;
        for (double number : with.values()) {
            largest = Math.max(largest, Math.abs(number));
        }
        for (int i = 0; i < expected.length; i++) {
            assertThat(with.values()[i] - without.values()[i]).isCloseTo(expected[i], within(1e-12 * largest));
        }
        double added = 0;
        for (double number : expected) {
            added = Math.max(added, Math.abs(number));
        }
        assertThat(added).isGreaterThan(1e-9 * largest); // so that a loss that is left out is seen
    }

    private static double[] softmax(Numbers logits) {
        double[] p = new double[logits.values().length];
        int experts = logits.columns();
        for (int t = 0; t < logits.rows(); t++) {
            double sum = 0;
            for (int e = 0; e < experts; e++) {
                sum += Math.exp(logits.values()[t * experts + e]);
            }
            for (int e = 0; e < experts; e++) {
                p[t * experts + e] = Math.exp(logits.values()[t * experts + e]) / sum;
            }
        }
        return p;
    }

    private static double[] throughSoftmax(double[] p, double[] dP, int experts) {
        double[] dZ = new double[p.length];
        for (int i = 0; i < p.length; i++) {
            double dot = 0;
            for (int e = 0; e < experts; e++) {
                dot += p[i / experts * experts + e] * dP[i / experts * experts + e];
            }
            dZ[i] = p[i] * (dP[i] - dot);
        }
        return dZ;
    }

    private static int[][] chosen(Numbers index) {
        int[][] chosen = new int[index.rows()][index.columns()];
        for (int t = 0; t < chosen.length; t++) {
            for (int i = 0; i < chosen[t].length; i++) {
                chosen[t][i] = (int) index.values()[t * chosen[t].length + i];
            }
        }
        return chosen;
    }

    /** The block's gradients have them too. */
    @Test
    void lossesTakePartBehindANorm() throws IOException {
        RunFixture fixture = RunFixture.named("qwen3-moe");
        Map<String, Numbers> input =
                Map.of("hidden_states", fixture.expected("hidden_states"), "d_output", fixture.expected("d_output"));
        Ran plain = run(fixture, input, "--residual");
        Ran with = run(fixture, input, "--residual", "--with-losses");
        double value = new Balance(0.001, 1, false)
                .value(
                        softmax(with.tensors().get("router_logits")),
                        chosen(with.tensors().get("topk_index")));
        assertThat(with.loss("transformers")).isCloseTo(value, within(1e-12 * value));
        String norm = "grad.model.layers.1.post_attention_layernorm.weight";
        assertThat(with.tensors().get(norm).values())
                .isNotEqualTo(plain.tensors().get(norm).values());
        assertThat(with.tensors().get("output").values())
                .isEqualTo(plain.tensors().get("output").values());
    }

    @ParameterizedTest
    @ValueSource(strings = {"nemotron-3-nano", "olmo-hf", "gpt-oss-original"})
    void aFamilyWithoutLossesHasNone(String name) throws IOException {
        RunFixture fixture = RunFixture.named(name);
        Ran ran = run(fixture, Map.of("hidden_states", fixture.expected("hidden_states")), "--with-losses");
        assertThat(ran.lines().get(0)).isEqualTo("auxiliary loss: 0.0 (config.json names none)");
    }

    @Test
    void withoutTokensTheLossIsZero() throws IOException {
        RunFixture fixture = RunFixture.named("deepseek-v3");
        Numbers none = fixture.expected("hidden_states").rows(0, 0);
        Map<String, Numbers> input = Map.of("hidden_states", none, "d_output", none);
        assertThat(run(fixture, input, "--with-losses").loss("deepseek-sequence"))
                .isZero();
    }
}
