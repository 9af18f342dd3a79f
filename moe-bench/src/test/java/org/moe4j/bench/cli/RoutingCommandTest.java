package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.bench.cli.RoutingFixture.CODE;
import static org.moe4j.bench.cli.RoutingFixture.EXPERTS;
import static org.moe4j.bench.cli.RoutingFixture.LAYERS;
import static org.moe4j.bench.cli.RoutingFixture.PROSE;
import static org.moe4j.bench.cli.RoutingFixture.TOKENS;
import static org.moe4j.bench.cli.RoutingFixture.TOP_K;
import static org.moe4j.bench.cli.RoutingFixture.counts;
import static org.moe4j.bench.cli.RoutingFixture.json;
import static org.moe4j.bench.cli.RoutingFixture.row;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the command counts, against loops over the same tokens. */
final class RoutingCommandTest {
    @TempDir
    static Path temporary;

    private static Path prose;
    private static Path code;

    @BeforeAll
    static void write() throws IOException {
        System.setProperty("java.awt.headless", "true");
        RoutingFixture files = RoutingFixture.in(temporary);
        prose = files.prose;
        code = files.code;
    }

    private static double distance(long[] a, long[] b) {
        double sum = 0;
        for (int e = 0; e < EXPERTS; e++) {
            sum += Math.abs((double) a[e] / Arrays.stream(a).sum()
                    - (double) b[e] / Arrays.stream(b).sum());
        }
        return sum / 2;
    }

    @Test
    void loadIsThatOfCounting() throws IOException {
        JsonNode load = json(prose).get("load");
        assertThat(load).hasSize(LAYERS);
        for (int l = 0; l < LAYERS; l++) {
            long[] counts = counts(PROSE[l], 0, TOKENS);
            long[] sorted = Arrays.stream(counts).sorted().toArray();
            double slots = TOKENS * TOP_K;
            double mean = slots / EXPERTS;
            double squares = Arrays.stream(counts)
                    .mapToDouble(n -> (n - mean) * (n - mean))
                    .sum();
            JsonNode row = load.get(l);
            assertThat(row.get("passage").asText()).isEqualTo("prose");
            assertThat(row.get("layer").asText()).isEqualTo("" + l);
            assertThat(row.get("slots").asLong()).isEqualTo(TOKENS * TOP_K);
            assertThat(counts[row.get("busiest_expert").asInt()]).isEqualTo(sorted[EXPERTS - 1]);
            assertThat(row.get("busiest_share").asDouble()).isEqualTo(sorted[EXPERTS - 1] / slots);
            assertThat(row.get("quietest_share").asDouble()).isEqualTo(sorted[0] / slots);
            assertThat(row.get("busiest_versus_even").asDouble()).isCloseTo(sorted[EXPERTS - 1] / mean, within(1e-12));
            assertThat(row.get("maximum_violation").asDouble())
                    .isCloseTo(sorted[EXPERTS - 1] / mean - 1, within(1e-12));
            assertThat(row.get("variation").asDouble()).isCloseTo(Math.sqrt(squares / EXPERTS) / mean, within(1e-12));
            assertThat(row.get("idle_experts").asLong())
                    .isEqualTo(Arrays.stream(counts).filter(n -> n == 0).count());
        }
    }

    private static double needed(int[][] tokens, int size) {
        int blocks = tokens.length / size;
        double sum = 0;
        for (int block = 0; block < blocks; block++) {
            Set<Integer> union = new HashSet<>();
            for (int t = block * size; t < (block + 1) * size; t++) {
                Arrays.stream(tokens[t]).forEach(union::add);
            }
            sum += union.size();
        }
        return sum / blocks;
    }

    @Test
    void batchesNeedWhatUnionsOfTheirBlocksDo() throws IOException {
        JsonNode batch = json(prose).get("batch");
        assertThat(batch).hasSize(6);
        for (int size = 1; size <= 32; size *= 2) {
            double mean = 0;
            for (int[][] layer : PROSE) {
                mean += needed(layer, size) / LAYERS;
            }
            JsonNode row = row(batch, Map.of("tokens_together", "" + size));
            assertThat(row.get("experts_needed").asDouble()).isCloseTo(mean, within(1e-12));
            assertThat(row.get("worst_case").asDouble()).isEqualTo(Math.min(EXPERTS, size * TOP_K));
            assertThat(row.get("independent_uniform").asDouble())
                    .isCloseTo(EXPERTS * (1 - Math.pow(1 - (double) TOP_K / EXPERTS, size)), within(1e-12));
            assertThat(row.get("slots").asDouble()).isEqualTo(size * TOP_K);
        }
    }

    /** 18 tokens of each passage, or of each half of one. */
    @Test
    void mixedBatchesTakeTheirTokensInTurns() throws IOException {
        JsonNode mixed = json(prose, code).get("batch_mixed");
        int each = TOKENS / 2;
        for (int size = 1; size <= 32; size *= 2) {
            double all = 0;
            double alone = 0;
            for (int l = 0; l < LAYERS; l++) {
                all += needed(turns(PROSE[l], 0, CODE[l], 0, each), size) / LAYERS;
                alone += needed(turns(PROSE[l], 0, PROSE[l], each, each), size) / (2 * LAYERS);
                alone += needed(turns(CODE[l], 0, CODE[l], each, each), size) / (2 * LAYERS);
            }
            JsonNode row = row(mixed, Map.of("tokens_together", "" + size));
            assertThat(row.get("all_passages").asDouble()).isCloseTo(all, within(1e-12));
            assertThat(row.get("one_passage").asDouble()).isCloseTo(alone, within(1e-12));
            assertThat(row.get("difference").asDouble()).isCloseTo(all - alone, within(1e-12));
        }
    }

    private static int[][] turns(int[][] a, int fromA, int[][] b, int fromB, int each) {
        int[][] turns = new int[2 * each][];
        for (int t = 0; t < each; t++) {
            turns[2 * t] = a[fromA + t];
            turns[2 * t + 1] = b[fromB + t];
        }
        return turns;
    }

    @Test
    void devicesAreCountedTokenByToken() throws IOException {
        JsonNode root = json(prose, "--devices", "3,5");
        JsonNode devices = root.get("devices");
        assertThat(devices).hasSize(2);
        for (int count : new int[] {3, 5}) {
            double reached = 0;
            double all = 0;
            for (int[][] layer : PROSE) {
                for (int[] token : layer) {
                    long distinct = Arrays.stream(token)
                            .map(e -> deviceOf(e, count))
                            .distinct()
                            .count();
                    reached += distinct / (double) (LAYERS * TOKENS);
                    all += distinct == count ? 1.0 / (LAYERS * TOKENS) : 0;
                }
            }
            JsonNode row = row(devices, Map.of("devices", "" + count));
            assertThat(row.get("devices_per_token").asDouble()).isCloseTo(reached, within(1e-12));
            assertThat(row.get("tokens_needing_all").asDouble()).isCloseTo(all, within(1e-12));
            assertThat(row.get("most_devices").asInt()).isEqualTo(Math.min(count, TOP_K));
            JsonNode traffic = row(root.get("devices_traffic"), Map.of("devices", "" + count));
            assertThat(traffic.get("per_assignment").asDouble()).isEqualTo(TOP_K);
            assertThat(traffic.get("per_device").asDouble()).isCloseTo(reached, within(1e-12));
            assertThat(traffic.get("all_reduce").asDouble()).isEqualTo(2.0 * (count - 1));
        }
    }

    @Test
    void devicesAreBusyAsTheirExpertsAre() throws IOException {
        JsonNode root = json(prose, "--devices", "3,5");
        for (int count : new int[] {3, 5}) {
            JsonNode row = row(root.get("devices_balance"), Map.of("devices", "" + count));
            double stridedReach = 0;
            double[][] busiest = new double[2][LAYERS]; // over the mean: in blocks, and strided
            for (int l = 0; l < LAYERS; l++) {
                double[][] load = new double[2][count];
                for (int[] token : PROSE[l]) {
                    Arrays.stream(token).forEach(e -> load[0][deviceOf(e, count)]++);
                    Arrays.stream(token).forEach(e -> load[1][e % count]++);
                    stridedReach +=
                            Arrays.stream(token).map(e -> e % count).distinct().count() / (double) (LAYERS * TOKENS);
                }
                for (int i = 0; i < 2; i++) {
                    busiest[i][l] = Arrays.stream(load[i]).max().orElseThrow() * count / (TOKENS * TOP_K);
                }
            }
            assertThat(row(root.get("devices"), Map.of("devices", "" + count))
                            .get("strided_devices_per_token")
                            .asDouble())
                    .isCloseTo(stridedReach, within(1e-12));
            String[] names = {"contiguous", "strided"};
            for (int i = 0; i < 2; i++) {
                assertThat(row.get(names[i] + "_mean").asDouble())
                        .isCloseTo(Arrays.stream(busiest[i]).average().orElseThrow(), within(1e-12));
                assertThat(row.get(names[i] + "_worst").asDouble())
                        .isCloseTo(Arrays.stream(busiest[i]).max().orElseThrow(), within(1e-12));
            }
            assertThat(row.get("copies_mean").asDouble())
                    .isBetween(1.0, row.get("contiguous_mean").asDouble());
        }
    }

    /** Contiguous blocks, of which the first E mod N are longer by one. */
    private static int deviceOf(int expert, int count) {
        int left = expert;
        for (int device = 0; ; device++) {
            left -= EXPERTS / count + (device < EXPERTS % count ? 1 : 0);
            if (left < 0) {
                return device;
            }
        }
    }

    @Test
    void distancesAreHalfTheSumsOfDifferences() throws IOException {
        JsonNode root = json(prose, code);
        double noises = 0;
        double crosses = 0;
        for (int l = 0; l < LAYERS; l++) {
            double noise = 0;
            for (int[][] layer : List.of(PROSE[l], CODE[l])) {
                noise += distance(counts(layer, 0, TOKENS / 2), counts(layer, TOKENS / 2, TOKENS)) / 2;
            }
            double cross = distance(counts(PROSE[l], 0, TOKENS), counts(CODE[l], 0, TOKENS));
            noises += noise / LAYERS;
            crosses += cross / LAYERS;
            JsonNode row = row(root.get("distance"), Map.of("layer", "" + l));
            assertThat(row.get("noise").asDouble()).isCloseTo(noise, within(1e-12));
            assertThat(row.get("cross").asDouble()).isCloseTo(cross, within(1e-12));
            assertThat(row.get("distance_1_2").asDouble()).isCloseTo(cross, within(1e-12));
            assertThat(row.get("cross_over_noise").asDouble()).isCloseTo(cross / noise, within(1e-12));
        }
        JsonNode mean = row(root.get("distance"), Map.of("layer", "mean"));
        assertThat(mean.get("noise").asDouble()).isCloseTo(noises, within(1e-12));
        assertThat(mean.get("cross_over_noise").asDouble()).isCloseTo(crosses / noises, within(1e-12));

        long[] from = counts(PROSE[LAYERS - 1], 0, TOKENS);
        long[] to = counts(CODE[LAYERS - 1], 0, TOKENS);
        JsonNode preference = row(root.get("preferences"), Map.of("layer", "3", "from", "prose", "to", "code"));
        int expert = preference.get("rises_most").asInt();
        assertThat(to[expert] - from[expert])
                .isEqualTo(IntStream.range(0, EXPERTS)
                        .mapToLong(e -> to[e] - from[e])
                        .max()
                        .orElseThrow());
        assertThat(preference.get("slots_to").asLong()).isEqualTo(to[expert]);
        assertThat(preference.get("used_only_by_to").asLong())
                .isEqualTo(IntStream.range(0, EXPERTS)
                        .filter(e -> to[e] > 0 && from[e] == 0)
                        .count());
    }

    @Test
    void cachesHitWhatAListInOrderOfUseHolds() throws IOException {
        JsonNode caches = json(prose, "--cache", "4," + EXPERTS).get("caches");
        for (int slots : new int[] {4, EXPERTS}) {
            int hits = 0;
            for (int[][] layer : PROSE) {
                List<Integer> held = new ArrayList<>();
                for (int[] token : layer) {
                    for (int expert : token) {
                        hits += held.remove((Integer) expert) ? 1 : 0;
                        held.add(expert);
                        if (held.size() > slots) {
                            held.remove(0);
                        }
                    }
                }
            }
            JsonNode row = row(caches, Map.of("slots", "" + slots));
            assertThat(row.get("lru_hit_rate").asDouble())
                    .isCloseTo((double) hits / (LAYERS * TOKENS * TOP_K), within(1e-12));
            assertThat(row.get("best_hit_rate").asDouble())
                    .isGreaterThanOrEqualTo(row.get("lru_hit_rate").asDouble());
        }
        assertThat(json(prose).has("caches")).isFalse();
    }
}
