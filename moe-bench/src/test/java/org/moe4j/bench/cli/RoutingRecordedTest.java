package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.bench.cli.RoutingFixture.json;
import static org.moe4j.bench.cli.RoutingFixture.row;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file with logits and other experts than they would choose: what is said of the recorded ones, and what of the rule's. */
final class RoutingRecordedTest {
    private static final int EXPERTS = 8;
    private static final int TOP_K = 2;
    private static final int TOKENS = 5000; // more than one block
    private static final double[][] LOGITS = new double[TOKENS][];
    private static final int[][] RECORDED = new int[TOKENS][];

    @TempDir
    static Path temporary;

    private static Path file;

    @BeforeAll
    static void write() throws IOException {
        System.setProperty("java.awt.headless", "true");
        SplittableRandom random = new SplittableRandom(4);
        ByteBuffer data =
                ByteBuffer.allocate(TOKENS * (Double.BYTES * EXPERTS + TOP_K)).order(ByteOrder.LITTLE_ENDIAN);
        for (int t = 0; t < TOKENS; t++) {
            LOGITS[t] = random.doubles(EXPERTS, -2, 2).toArray();
            int first = random.nextInt(3); // the other experts are never recorded
            RECORDED[t] = new int[] {first, (first + 1) % 3};
            if (t % 4 == 1) { // the rule's experts too
                LOGITS[t][RECORDED[t][0]] += 4;
                LOGITS[t][RECORDED[t][1]] += 4;
            }
            Arrays.stream(LOGITS[t]).forEach(data::putDouble);
        }
        Arrays.stream(RECORDED).flatMapToInt(Arrays::stream).forEach(e -> data.put((byte) e));
        int logits = TOKENS * EXPERTS * Double.BYTES;
        file = file(
                "both",
                "{\"router_logits\":{\"dtype\":\"F64\",\"shape\":[" + TOKENS + "," + EXPERTS + "],\"data_offsets\":[0,"
                        + logits
                        + "]},\"topk_index\":{\"dtype\":\"U8\",\"shape\":[" + TOKENS + "," + TOP_K
                        + "],\"data_offsets\":["
                        + logits + "," + data.capacity() + "]}}",
                data);
    }

    private static Path file(String name, String json, ByteBuffer data) throws IOException {
        byte[] header = json.getBytes(StandardCharsets.UTF_8);
        ByteBuffer whole = ByteBuffer.allocate(Long.BYTES + header.length + data.capacity())
                .order(ByteOrder.LITTLE_ENDIAN);
        whole.putLong(header.length).put(header).put(data.flip());
        return Files.write(temporary.resolve(name + ".safetensors"), whole.array());
    }

    private static double[] softmax(double[] logits) {
        double sum = Arrays.stream(logits).map(Math::exp).sum();
        return Arrays.stream(logits).map(z -> Math.exp(z) / sum).toArray();
    }

    private static int[] best(double[] logits) {
        int first = 0;
        int second = -1;
        for (int e = 1; e < EXPERTS; e++) {
            if (logits[e] > logits[first]) {
                second = first;
                first = e;
            } else if (second < 0 || logits[e] > logits[second]) {
                second = e;
            }
        }
        return new int[] {first, second};
    }

    /** E times the sum of f and P, f of the first some choices of each token. */
    private static double balance(int ranks, boolean recorded) {
        double[] f = new double[EXPERTS];
        double[] p = new double[EXPERTS];
        for (int t = 0; t < TOKENS; t++) {
            int[] chosen = recorded ? RECORDED[t] : best(LOGITS[t]);
            double[] scores = softmax(LOGITS[t]);
            for (int rank = 0; rank < ranks; rank++) {
                f[chosen[rank]] += 1.0 / TOKENS;
            }
            for (int e = 0; e < EXPERTS; e++) {
                p[e] += scores[e] / TOKENS;
            }
        }
        double sum = 0;
        for (int e = 0; e < EXPERTS; e++) {
            sum += EXPERTS * f[e] * p[e];
        }
        return sum;
    }

    private static double loss(JsonNode root, String name) {
        return row(root.get("losses"), Map.of("loss", name)).get("value").asDouble();
    }

    private static void assertLosses(JsonNode root, boolean recorded) {
        assertThat(loss(root, "switch")).isCloseTo(balance(1, recorded), within(1e-12));
        assertThat(loss(root, "flaxformer")).isCloseTo(balance(TOP_K, recorded), within(1e-12));
        for (String perChoice : List.of("olmo-core", "olmo-core-instance", "megablocks", "deepseek-batch")) {
            assertThat(loss(root, perChoice)).isCloseTo(balance(TOP_K, recorded) / TOP_K, within(1e-12));
        }
        assertThat(loss(root, "transformers")).isCloseTo(balance(TOP_K, false), within(1e-12)); // of a top-K of its own
        assertThat(loss(root, "deepseek-v3")).isCloseTo(balance(TOP_K, false) / TOP_K, within(1e-12));
    }

    @Test
    void lossesCountTheRecordedExperts() throws IOException {
        JsonNode root = json(file);
        assertThat(root.get("load").get(0).get("idle_experts").asInt()).isEqualTo(EXPERTS - 3);
        assertLosses(root, true);
    }

    @Test
    void withAPresetTheRuleIsCountedAndComparedWithWhatWasRecorded() throws IOException {
        JsonNode root = json(file, "--preset", "mixtral-8x7b");
        assertThat(root.get("load").get(0).get("idle_experts").asInt()).isZero();
        assertLosses(root, false);
        int same = 0;
        for (int t = 0; t < 20; t++) {
            int[] byRule = Arrays.stream(best(LOGITS[t])).sorted().toArray();
            boolean equal =
                    Arrays.equals(byRule, Arrays.stream(RECORDED[t]).sorted().toArray());
            same += equal ? 1 : 0;
            JsonNode token =
                    json(file, "--preset", "mixtral-8x7b", "--token", t).get("token");
            assertThat(token.get(0).get("as_recorded").asText()).isEqualTo(equal ? "yes" : "no");
            JsonNode plain = json(file, "--token", t).get("token");
            assertThat(plain.get(0).get("as_recorded").asText()).isEqualTo(equal ? "yes" : "no");
        }
        assertThat(same).isBetween(5, 19);
    }

    @Test
    void recordedWeightsAreShownWhereThereAreNoLogits() throws IOException {
        ByteBuffer data = ByteBuffer.allocate(4 * Double.BYTES + 4).order(ByteOrder.LITTLE_ENDIAN);
        data.putDouble(0.5).putDouble(0.25).putDouble(0.75).putDouble(0.0625);
        data.put(new byte[] {1, 0, 6, 2});
        Path weighted = file(
                "weighted",
                "{\"topk_weight\":{\"dtype\":\"F64\",\"shape\":[2,2],\"data_offsets\":[0,32]},"
                        + "\"topk_index\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[32,36]}}",
                data);
        JsonNode token =
                json(weighted, "--experts", EXPERTS, "--token", 1).get("token").get(0);
        assertThat(token.get("experts").asText()).isEqualTo("6, 2");
        assertThat(token.get("top_weight").asDouble()).isEqualTo(0.75);
        assertThat(token.get("weight_sum").asDouble()).isEqualTo(0.8125);
        assertThat(token.get("top_share").asDouble()).isEqualTo(0.75 / 0.8125);
        assertThat(token.get("kept").isNull()).isTrue(); // scores need logits
        assertThat(token.get("discarded").isNull()).isTrue();
        assertThat(token.get("as_recorded").isNull()).isTrue();
    }
}
