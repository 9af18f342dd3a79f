package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** The programs of docs/routing.md compile as they stand, run, and print what their definitions give. */
final class RoutingPageTest {
    private static final int EXPERTS = 64;
    private static final int TOP_K = 8;
    private static final double ROUNDING = 1e-12; // sums of a few thousand terms

    @TempDir
    static Path classes;

    private static JavaBlocks page;

    @TempDir
    private Path folder;

    @BeforeAll
    static void compile() throws IOException {
        page = JavaBlocks.compile("docs/routing.md", classes);
    }

    @AfterAll
    static void close() throws IOException {
        page.close();
    }

    /** The experts of tokens whose logits are uniform numbers of a seed: the K largest, as sets. */
    private static List<Set<Integer>> chosen(int tokens, long seed) {
        return chosen(new Random(seed).doubles((long) tokens * EXPERTS).toArray());
    }

    private static List<Set<Integer>> chosen(double[] logits) {
        List<Set<Integer>> all = new ArrayList<>();
        for (int t = 0; t < logits.length / EXPERTS; t++) {
            int from = t * EXPERTS;
            all.add(new HashSet<>(IntStream.range(0, EXPERTS)
                    .boxed()
                    .sorted(Comparator.comparingDouble(e -> -logits[from + e]))
                    .limit(TOP_K)
                    .toList()));
        }
        return all;
    }

    private static double[] shares(List<Set<Integer>> tokens) {
        double[] shares = new double[EXPERTS];
        tokens.forEach(token -> token.forEach(e -> shares[e] += 1.0 / (TOP_K * tokens.size())));
        return shares;
    }

    private static double variation(double[] shares) {
        double squares = 0;
        for (double share : shares) {
            squares += Math.pow(share * EXPERTS - 1, 2);
        }
        return Math.sqrt(squares / EXPERTS);
    }

    private static double distance(double[] a, double[] b) {
        return IntStream.range(0, EXPERTS)
                        .mapToDouble(e -> Math.abs(a[e] - b[e]))
                        .sum()
                / 2;
    }

    private static double number(List<String> line, int place) {
        return Double.parseDouble(line.get(place).replaceAll("[,:]$", ""));
    }

    @Test
    void thePageHasAProgramForEachRoom() {
        assertThat(page.names())
                .containsExactly(
                        "RecordAndReplay",
                        "Explaining",
                        "Measuring",
                        "Spreading",
                        "Summing",
                        "Billing",
                        "Intervening",
                        "Caching",
                        "Synthetic");
    }

    @Test
    void aRecordHasTheLoadOfTheRoutersLogits() throws ReflectiveOperationException {
        List<List<String>> lines =
                page.run("RecordAndReplay", folder.resolve("trace.safetensors").toString());
        double[] x = new Random(3).doubles(3200, -2, 2).toArray();
        double[] logits = new double[100 * EXPERTS];
        Backend backend = ReferenceBackend.instance();
        try (TopKRouter router = TopKRouter.random(RouterConfig.topK(EXPERTS, TOP_K), 32, backend, 1);
                Parameters parameters = router.parameters()) {
            double[] w = parameters.get("weight").toArray();
            for (int i = 0; i < logits.length; i++) {
                for (int d = 0; d < 32; d++) {
                    logits[i] += x[i / EXPERTS * 32 + d] * w[i % EXPERTS * 32 + d];
                }
            }
        }
        List<String> first = lines.get(0);
        assertThat(number(first, first.size() - 1)).isCloseTo(variation(shares(chosen(logits))), within(ROUNDING));
        assertThat(lines.get(1)).containsExactly("same", "output:", "true");
    }

    @Test
    void measuresOfOnePass() throws ReflectiveOperationException {
        List<Set<Integer>> tokens = chosen(356, 1);
        double[] shares = shares(tokens);
        List<List<String>> lines = page.run("Measuring");
        double most = Arrays.stream(shares).max().orElseThrow();
        Set<Integer> batch = new HashSet<>();
        tokens.subList(0, 256).forEach(batch::addAll);

        assertThat(shares[(int) number(lines.get(0), 1)]).isCloseTo(most, within(ROUNDING));
        assertThat(number(lines.get(0), 3)).isCloseTo(most * EXPERTS, within(ROUNDING));
        assertThat(number(lines.get(0), 5)).isCloseTo(variation(shares), within(ROUNDING));
        assertThat(number(lines.get(1), 2)).isEqualTo(batch.size());
        long pairs = tokens.stream().filter(t -> t.containsAll(Set.of(0, 1))).count();
        assertThat((long) number(lines.get(1), 9)).isEqualTo(pairs);
        List<Set<Integer>> other = chosen(200, 2);
        double noise = (distance(shares(tokens.subList(0, 178)), shares(tokens.subList(178, 356)))
                        + distance(shares(other.subList(0, 100)), shares(other.subList(100, 200))))
                / 2;
        assertThat(number(lines.get(2), 1)).isCloseTo(noise, within(ROUNDING));
        assertThat(number(lines.get(2), 3)).isCloseTo(distance(shares, shares(other)), within(ROUNDING));
    }

    @Test
    void oneTokenIsExplained() throws ReflectiveOperationException {
        List<List<String>> lines = page.run("Explaining");

        assertThat(lines.get(0)).startsWith("64", "of", "64");
        List<String> mass = lines.get(9);
        assertThat(mass.get(0)).isEqualTo("kept");
        assertThat(number(mass, 1) + number(mass, 3)).isCloseTo(1, within(ROUNDING));
        assertThat(number(lines.get(18), 2)).isLessThan(ROUNDING); // off by
        assertThat(lines.get(19)).startsWith("64", "rows", "and", "experts");
    }

    @Test
    void tokensAreSpreadOverDevices() throws ReflectiveOperationException {
        List<Set<Integer>> tokens = chosen(356, 1);
        List<List<String>> lines = page.run("Spreading");
        double devices = 0;
        double bytes = 0;
        for (int t = 0; t < tokens.size(); t++) {
            Set<Integer> reached = new HashSet<>();
            tokens.get(t).forEach(e -> reached.add(e / 8));
            devices += reached.size() / 356.0;
            reached.remove(t % 8);
            bytes += reached.size() * 2048.0 * 2;
        }
        double missed = 1; // C(56, 8)/C(64, 8)
        for (int i = 0; i < 8; i++) {
            missed *= (56.0 - i) / (64 - i);
        }
        assertThat(number(lines.get(0), 0)).isCloseTo(devices, within(ROUNDING));
        assertThat(number(lines.get(0), 5)).isCloseTo(8 * (1 - missed), within(ROUNDING));
        assertThat(lines.get(0)).endsWith("most", "8");
        assertThat(number(lines.get(2), 0)).isCloseTo(bytes, within(ROUNDING * bytes));
        assertThat(lines.get(2)).contains(Double.toString(2 * 7 * 356 * 2048 * 2.0));
    }

    @Test
    void lossesOfBlocksAreBillsOfTheirSums() throws ReflectiveOperationException {
        List<List<String>> losses = page.run("Summing");
        assertThat(losses).hasSize(14);
        for (List<String> line : losses) {
            double coefficient = line.get(0).equals("z-loss:") ? 0.001 : 0.01;
            assertThat(number(line, 2)).as(line.toString()).isPositive();
            assertThat(number(line, line.size() - 1)).isGreaterThanOrEqualTo(coefficient * 0.99);
        }
        List<List<String>> bills = page.run("Billing");
        assertThat(bills.get(0)).startsWith("402784256", "held,"); // 64 experts of 6,291,456 and a router of 131,072
        assertThat(bills.subList(1, 5))
                .extracting(line -> line.get(line.size() - 1))
                .containsExactlyInAnyOrder("8", "120", "35960", "4426165368");
    }

    @Test
    void changesCachesAndSyntheticTraces() throws ReflectiveOperationException {
        List<List<String>> changes = page.run("Intervening");
        assertThat(changes)
                .hasSize(2)
                .allSatisfy(line -> assertThat(number(line, line.size() - 1)).isBetween(-1.0, 1.0));

        List<List<String>> caches = page.run("Caching");
        assertThat(caches)
                .hasSize(4)
                .allSatisfy(line -> assertThat(number(line, 7)).isGreaterThanOrEqualTo(number(line, 4)));
        assertThat(number(caches.get(3), 4))
                .isCloseTo(1 - 64 / (356.0 * 8), within(ROUNDING)); // first requests alone miss

        List<List<String>> loads =
                page.run("Synthetic", folder.resolve("synthetic.safetensors").toString());
        double[] published = {0.88, 0.89, 1.07};
        for (int layer = 0; layer < 3; layer++) {
            List<String> line = loads.get(layer);
            assertThat(line.get(0)).startsWith("synthetic");
            // each expert's count has a variance below that of T independent draws of probability π, √(T·π)/(T·K/E) of
            // the mean
            assertThat(number(line, line.size() - 1)).isCloseTo(published[layer], within(0.02));
        }
    }
}
