package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.bench.cli.RoutingFixture.EXPERTS;
import static org.moe4j.bench.cli.RoutingFixture.LAYERS;
import static org.moe4j.bench.cli.RoutingFixture.LOGITS;
import static org.moe4j.bench.cli.RoutingFixture.PROSE;
import static org.moe4j.bench.cli.RoutingFixture.TOKENS;
import static org.moe4j.bench.cli.RoutingFixture.TOP_K;
import static org.moe4j.bench.cli.RoutingFixture.json;
import static org.moe4j.bench.cli.RoutingFixture.row;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the command makes of router logits, against the formulas. */
final class RoutingLogitsTest {
    @TempDir
    static Path temporary;

    private static Path prose;
    private static Path logits;

    @BeforeAll
    static void write() throws IOException {
        System.setProperty("java.awt.headless", "true");
        RoutingFixture files = RoutingFixture.in(temporary);
        prose = files.prose;
        logits = files.logits;
    }

    private static double[] softmax(double[] logits) {
        double sum = Arrays.stream(logits).map(Math::exp).sum();
        return Arrays.stream(logits).map(z -> Math.exp(z) / sum).toArray();
    }

    private static Integer[] best(double[] scores) {
        return IntStream.range(0, scores.length)
                .boxed()
                .sorted((a, b) -> Double.compare(scores[b], scores[a]))
                .limit(TOP_K)
                .toArray(Integer[]::new);
    }

    /** The article's two forms: E times the sum of f and P, over all layers together and layer by layer; and the squared log-sum-exp. */
    @Test
    void lossesAreThoseOfTheirFormulas() throws IOException {
        JsonNode root = json(logits, "--top-k", TOP_K, "--balance-coefficient", 0.01, "--z-coefficient", 0.001);
        double[] pooledF = new double[EXPERTS];
        double[] pooledP = new double[EXPERTS];
        double each = 0;
        double z = 0;
        for (double[][] layer : LOGITS) {
            double[] f = new double[EXPERTS];
            double[] p = new double[EXPERTS];
            for (double[] token : layer) {
                double[] scores = softmax(token);
                Arrays.stream(best(scores)).forEach(e -> f[e] += 1.0 / TOKENS);
                IntStream.range(0, EXPERTS).forEach(e -> p[e] += scores[e] / TOKENS);
                z += Math.pow(Math.log(Arrays.stream(token).map(Math::exp).sum()), 2) / TOKENS;
            }
            for (int e = 0; e < EXPERTS; e++) {
                each += EXPERTS * f[e] * p[e] / LAYERS;
                pooledF[e] += f[e] / LAYERS;
                pooledP[e] += p[e] / LAYERS;
            }
        }
        double pooled = IntStream.range(0, EXPERTS)
                .mapToDouble(e -> EXPERTS * pooledF[e] * pooledP[e])
                .sum();
        JsonNode row = row(root.get("losses"), Map.of("loss", "transformers"));
        assertThat(row.get("value").asDouble()).isCloseTo(pooled, within(1e-9));
        assertThat(row.get("pooled").asDouble()).isCloseTo(pooled, within(1e-9));
        assertThat(row.get("mean_per_layer").asDouble()).isCloseTo(each, within(1e-9));
        assertThat(row.get("contribution").asDouble()).isCloseTo(0.01 * pooled, within(1e-9));
        JsonNode zLoss = row(root.get("losses"), Map.of("loss", "z-loss"));
        assertThat(zLoss.get("mean_per_layer").asDouble()).isCloseTo(z / LAYERS, within(1e-9));
        assertThat(zLoss.get("coefficient").asDouble()).isEqualTo(0.001);
        assertThat(root.get("losses_by_layer")).hasSize(LAYERS);
    }

    @Test
    void aTokenIsFollowedThroughTheLayers() throws IOException {
        JsonNode root = json(logits, "--top-k", TOP_K, "--token", 5, "--layer", 2);
        for (int l = 0; l < LAYERS; l++) {
            double[] scores = softmax(LOGITS[l][5]);
            Integer[] best = best(scores);
            double kept = Arrays.stream(best).mapToDouble(e -> scores[e]).sum();
            JsonNode row = row(root.get("token"), Map.of("layer", "" + l));
            assertThat(row.get("top_expert").asInt()).isEqualTo(best[0]);
            assertThat(row.get("top_weight").asDouble()).isCloseTo(scores[best[0]], within(1e-12));
            assertThat(row.get("kept").asDouble()).isCloseTo(kept, within(1e-12));
            assertThat(row.get("discarded").asDouble()).isCloseTo(1 - kept, within(1e-12));
            assertThat(row.get("top_share").asDouble()).isCloseTo(scores[best[0]] / kept, within(1e-12));
            assertThat(row.get("as_recorded").isNull()).isTrue(); // nothing was
        }
        for (int rank = 0; rank < TOP_K; rank++) {
            JsonNode row = row(root.get("token_at_layer"), Map.of("rank", "" + (rank + 1)));
            int expert = best(softmax(LOGITS[2][5]))[rank];
            assertThat(row.get("expert").asInt()).isEqualTo(expert);
            assertThat(row.get("logit").asDouble()).isEqualTo(LOGITS[2][5][expert]);
        }
        JsonNode recorded = json(prose, "--token", 0, "--layer", 1);
        assertThat(recorded.get("token").get(1).get("experts").asText())
                .isEqualTo(Arrays.toString(PROSE[1][0]).replaceAll("[\\[\\]]", ""));
        assertThat(recorded.get("token_at_layer")).hasSize(TOP_K);
        assertThat(recorded.get("token_at_layer").get(0).get("logit").isNull()).isTrue();
    }
}
