package org.moe4j.router.analysis.synthetic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.router.analysis.ChosenExperts;

class SyntheticRoutingTest {
    private static final int TOKENS = 200_000;

    /** Counts lie within so many standard deviations of the mean; of thousands of them, hardly one is farther away by chance. */
    private static final double DEVIATIONS = 5;

    private static int[][] read(SyntheticRouting source) {
        int[][] all = new int[(int) source.tokens()][];
        ChosenExperts block = source.block(0, all.length);
        for (int t = 0; t < all.length; t++) {
            all[t] = block.expertsOf(t);
        }
        return all;
    }

    @ParameterizedTest
    @CsvSource({"64,8,1.07", "64,8,0.88", "2,1,0.5", "256,8,3", "7,7,0", "5,3,0.8", "3000,2,4"})
    void everyExpertIsDrawnWithItsProbability(int experts, int topK, double variation) {
        ExpertPopularity popularity = ExpertPopularity.ofVariation(experts, topK, variation);
        long[] counts = new long[experts];
        for (int[] chosen : read(SyntheticRouting.of(popularity, TOKENS, 5))) {
            assertThat(chosen).hasSize(topK);
            for (int expert : chosen) {
                counts[expert]++;
            }
        }
        for (int e = 0; e < experts; e++) {
            double p = popularity.inclusion(e);
            double deviation = Math.sqrt(TOKENS * p * (1 - p));
            assertThat((double) counts[e])
                    .as("expert %d", e)
                    .isCloseTo(TOKENS * p, within(DEVIATIONS * deviation + 1e-3 + (p < 1e-4 ? 3 : 0)));
        }
    }

    /** Tokens draw independently: a batch needs what the closed form says. */
    @ParameterizedTest
    @CsvSource({"2,0.88", "8,0.88", "64,1.07"})
    void batchesNeedWhatIndependentTokensNeed(int batch, double variation) {
        ExpertPopularity popularity = ExpertPopularity.ofVariation(64, 8, variation);
        SyntheticRouting source = SyntheticRouting.of(popularity, 64_000, 11);
        assertThat(needed(source, batch)).isCloseTo(popularity.expectedNeeded(batch), within(0.3));
    }

    private static double needed(SyntheticRouting source, int batch) {
        int[][] all = read(source);
        long sum = 0;
        for (int from = 0; from + batch <= all.length; from += batch) {
            Set<Integer> distinct = new HashSet<>();
            for (int t = from; t < from + batch; t++) {
                for (int expert : all[t]) {
                    distinct.add(expert);
                }
            }
            sum += distinct.size();
        }
        return sum / Math.floor((double) all.length / batch);
    }

    /**
     * In a run of B tokens each takes the common draw with probability s: with N own draws, {@code 1 − (1 − π)^(N + [N < B])} of an
     * expert, N binomial.
     */
    @ParameterizedTest
    @CsvSource({"8,0.5", "8,0.9", "32,1", "32,0.25"})
    void runsNeedLessAndHaveTheSameLoad(int length, double share) {
        ExpertPopularity popularity = ExpertPopularity.ofVariation(64, 8, 0.88);
        SyntheticRouting source = SyntheticRouting.of(popularity, 64_000, 11).withRuns(length, share);
        double expected = 0;
        double meanOfCounts = 0;
        for (int e = 0; e < 64; e++) {
            double missed = 1 - popularity.inclusion(e);
            for (int own = 0; own <= length; own++) {
                double probability = choose(length, own) * Math.pow(1 - share, own) * Math.pow(share, length - own);
                expected += probability * (1 - Math.pow(missed, own < length ? own + 1 : own));
            }
            meanOfCounts += popularity.inclusion(e);
        }
        assertThat(meanOfCounts).isCloseTo(8, within(1e-9));
        assertThat(needed(source, length)).isCloseTo(expected, within(0.5));
        if (share > 0) {
            assertThat(expected).isLessThan(popularity.expectedNeeded(length) - 1);
        }
        long[] counts = new long[64];
        for (int[] chosen : read(source)) {
            for (int expert : chosen) {
                counts[expert]++;
            }
        }
        for (int e = 0; e < 64; e++) { // as if there were only as many tokens as runs
            double p = popularity.inclusion(e);
            double deviation = Math.sqrt(64_000.0 / length * p * (1 - p)) * length;
            assertThat((double) counts[e]).isCloseTo(64_000 * p, within(DEVIATIONS * deviation));
        }
    }

    private static double choose(int n, int k) {
        double result = 1;
        for (int i = 0; i < k; i++) {
            result *= (n - i) / (double) (i + 1);
        }
        return result;
    }

    @Test
    void anyBlocksGiveTheSameTokens() {
        ExpertPopularity popularity = ExpertPopularity.ofVariation(64, 8, 0.88);
        SyntheticRouting source = SyntheticRouting.of(popularity, 1000, 3).withRuns(7, 0.5);
        int[][] whole = read(source);
        Random random = new Random(9);
        for (int i = 0; i < 100; i++) {
            int from = random.nextInt(1001);
            int count = random.nextInt(1001 - from);
            ChosenExperts block = source.block(from, count);
            for (int t = 0; t < count; t++) {
                assertThat(block.expertsOf(t)).containsExactly(whole[from + t]);
            }
        }
        assertThat(read(SyntheticRouting.of(popularity, 1000, 3).withRuns(7, 0.5)))
                .isDeepEqualTo(whole);
        assertThat(read(SyntheticRouting.of(popularity, 1000, 4).withRuns(7, 0.5))[0])
                .isNotEqualTo(whole[0]);
    }

    @Test
    void thereMayBeMoreTokensThanAnyMemoryHolds() {
        SyntheticRouting source = SyntheticRouting.of(ExpertPopularity.even(64, 8), Long.MAX_VALUE, 3);
        assertThat(source.block(Long.MAX_VALUE - 2, 2).expertsOf(1))
                .doesNotHaveDuplicates()
                .hasSize(8);
        assertThat(SyntheticRouting.of(ExpertPopularity.even(64, 8), 0, 3)
                        .block(0, 0)
                        .tokens())
                .isZero();
    }

    /** A row of neighbours would give any two of them never together; with many random rows all pairs occur about evenly. */
    @Test
    void pairsOfExpertsOccurAboutEvenly() {
        int[][] pairs = new int[16][16];
        for (int[] chosen : read(SyntheticRouting.of(ExpertPopularity.even(16, 4), TOKENS, 2))) {
            for (int a : chosen) {
                for (int b : chosen) {
                    pairs[a][b]++;
                }
            }
        }
        for (int a = 0; a < 16; a++) {
            for (int b = 0; b < a; b++) { // 0.05 on average; in one row a fifth of the pairs has 0.25
                assertThat(pairs[a][b] / (double) TOKENS).isBetween(0.02, 0.08);
            }
        }
    }

    @Test
    void aTextSaysWhatItIs() {
        ExpertPopularity popularity = ExpertPopularity.ofVariation(64, 8, 0.88);
        SyntheticRouting source = SyntheticRouting.of(popularity, 10, 7);
        assertThat(source).hasToString("synthetic: top 8 of 64 experts, coefficient of variation 0.880, seed 7");
        assertThat(source.withRuns(4, 0.5))
                .hasToString("synthetic: top 8 of 64 experts, coefficient of variation 0.880, runs of 4 with a share of"
                        + " 0.5 alike, seed 7");
        assertThat(source.popularity()).isSameAs(popularity);
        assertThat(source.experts()).isEqualTo(64);
    }

    @Test
    void whatCannotBeIsRefused() {
        SyntheticRouting source = SyntheticRouting.of(ExpertPopularity.even(2, 1), 10, 7);
        assertThatThrownBy(() -> SyntheticRouting.of(ExpertPopularity.even(2, 1), -1, 7))
                .hasMessage("tokens: expected at least 0 but was -1");
        assertThatThrownBy(() -> source.withRuns(0, 0.5)).hasMessage("length: expected at least 1 but was 0");
        assertThatThrownBy(() -> source.withRuns(1, 1.5)).hasMessage("share: expected 0..1 but was 1.5");
        assertThatThrownBy(() -> source.block(9, 2)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
