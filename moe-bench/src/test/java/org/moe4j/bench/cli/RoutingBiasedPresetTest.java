package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.bench.cli.RoutingFixture.json;
import static org.moe4j.bench.cli.RoutingFixture.row;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.bench.cli.RunFixture.Numbers;
import org.moe4j.checkpoint.safetensors.ElementType;

/** A preset with a selection bias: experts are the recorded ones, and losses read its scores, sigmoids for DeepSeek-V3. */
final class RoutingBiasedPresetTest {
    private static final int EXPERTS = 256;
    private static final int TOP_K = 8;
    private static final int TOKENS = 30;

    @TempDir
    private Path temporary;

    private final double[][] logits = new double[TOKENS][];
    private final int[][] recorded = new int[TOKENS][];

    private Path write(boolean indices) throws IOException {
        SplittableRandom random = new SplittableRandom(5);
        for (int t = 0; t < TOKENS; t++) {
            logits[t] = random.doubles(EXPERTS, -3, 3).toArray();
            int first = random.nextInt(EXPERTS);
            recorded[t] = IntStream.range(0, TOP_K)
                    .map(i -> (first + 31 * i) % EXPERTS)
                    .toArray();
        }
        Map<String, Numbers> tensors = new HashMap<>();
        tensors.put(
                "router_logits.3",
                Numbers.of(
                        List.of((long) TOKENS, (long) EXPERTS),
                        Arrays.stream(logits).flatMapToDouble(Arrays::stream).toArray()));
        if (indices) {
            double[] flat = Arrays.stream(recorded)
                    .flatMapToInt(Arrays::stream)
                    .asDoubleStream()
                    .toArray();
            tensors.put("topk_index.3", new Numbers(ElementType.I64, List.of((long) TOKENS, (long) TOP_K), flat));
        }
        return RunFixture.write(temporary.resolve("trace-" + indices + ".safetensors"), tensors);
    }

    private static double[] sigmoids(double[] logits) {
        return Arrays.stream(logits).map(z -> 1 / (1 + Math.exp(-z))).toArray();
    }

    private static int[] best(double[] scores) {
        return IntStream.range(0, EXPERTS)
                .boxed()
                .sorted(Comparator.comparingDouble(e -> -scores[e]))
                .limit(TOP_K)
                .mapToInt(e -> e)
                .toArray();
    }

    /** {@code E/K · Σ_e f_e P_e}, P the mean of the scores, or of their quotients with their sum. */
    private double balance(boolean counted, boolean normalized) {
        double[] f = new double[EXPERTS];
        double[] p = new double[EXPERTS];
        for (int t = 0; t < TOKENS; t++) {
            double[] scores = sigmoids(logits[t]);
            double divisor = normalized ? Arrays.stream(scores).sum() : 1;
            for (int e : counted ? recorded[t] : best(scores)) {
                f[e] += 1.0 / TOKENS;
            }
            for (int e = 0; e < EXPERTS; e++) {
                p[e] += scores[e] / divisor / TOKENS;
            }
        }
        return IntStream.range(0, EXPERTS).mapToDouble(e -> f[e] * p[e]).sum() * EXPERTS / TOP_K;
    }

    @Test
    void lossesReadItsScoresAndCountTheRecordedExperts() throws IOException {
        JsonNode root = json(write(true), "--preset", "deepseek-v3", "--token", 4);
        assertThat(loss(root, "deepseek-batch")).isCloseTo(balance(true, false), within(1e-10));
        assertThat(loss(root, "olmo-core")).isCloseTo(balance(true, true), within(1e-12));
        assertThat(loss(root, "deepseek-v3")).isCloseTo(balance(false, true), within(1e-12));
        assertThat(row(root.get("devices"), Map.of("devices", "8"))
                        .get("most_devices")
                        .asInt())
                .isEqualTo(4); // of 8 groups, one on each device
        JsonNode token = root.get("token").get(0);
        assertThat(token.get("top_expert").asInt()).isEqualTo(recorded[4][0]);
        assertThat(token.get("kept").isNull()).isTrue(); // what the bias chose by is not known
    }

    private static double loss(JsonNode root, String name) {
        return row(root.get("losses"), Map.of("loss", name)).get("value").asDouble();
    }

    @Test
    void withoutRecordedExpertsNobodyKnowsWhatTheBiasChose() throws IOException {
        Path alone = write(false);
        RoutingFixture.Outcome outcome = RoutingFixture.routing(alone, "--preset", "deepseek-v3", "--top-k", 8);
        assertThat(outcome.status()).isEqualTo(2);
        assertThat(outcome.err())
                .contains("--preset: expected indices and logits (deepseek-v3 has a selection bias) but layer 3 of "
                        + alone + " has logits alone");
        RoutingFixture.Outcome other = RoutingFixture.routing(write(true), "--preset", "kimi-k2");
        assertThat(other.status()).isEqualTo(2);
        assertThat(other.err()).contains("--preset: expected top 8 of 384 experts, as kimi-k2, but was top 8 of 256");
    }

    @Test
    void logitsThatAreTooLargeForALossAreNamed() throws IOException {
        Map<String, Numbers> tensors = Map.of("router_logits.0", Numbers.of(List.of(1L, 2L), 1e160, 0));
        Path file = RunFixture.write(temporary.resolve("large.safetensors"), tensors);
        RoutingFixture.Outcome outcome = RoutingFixture.routing(file, "--top-k", 1);
        assertThat(outcome.status()).isEqualTo(1);
        assertThat(outcome.err())
                .isEqualTo("moe: " + file
                        + ": router_logits: expected a finite z-loss but was Infinity; logits or coefficient are too large"
                        + System.lineSeparator());
    }
}
