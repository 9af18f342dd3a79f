package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.Promise;

class TopKTest {
    /** Brute force: K times the first of the largest that is not taken yet. */
    private static void brute(double[] scores, int topK, int[] into, boolean[] taken) {
        Arrays.fill(taken, false);
        for (int rank = 0; rank < topK; rank++) {
            int best = -1;
            for (int e = 0; e < scores.length; e++) {
                if (!taken[e] && (best < 0 || scores[e] > scores[best])) {
                    best = e;
                }
            }
            taken[best] = true;
            into[rank] = best;
        }
    }

    @ParameterizedTest
    @CsvSource({"64, 8, 400000", "16, 1, 200000", "12, 12, 200000", "160, 6, 150000", "512, 22, 50000"})
    void equalsBruteForceOnAMillionRows(int experts, int topK, int rows) {
        SplittableRandom random = new SplittableRandom(experts);
        double[] scores = new double[experts];
        int[] expected = new int[topK];
        int[] actual = new int[topK];
        boolean[] taken = new boolean[experts];
        TopK subject = new TopK(experts, topK);
        int mismatches = 0;
        for (int row = 0; row < rows; row++) {
            int levels = row % 2 == 0 ? 0 : 1 + random.nextInt(6); // every other row is full of ties
            for (int e = 0; e < experts; e++) {
                double level = levels == 0 ? random.nextDouble() - .5 : random.nextInt(levels) - 1;
                scores[e] = levels > 3 && level < 0 ? Double.NEGATIVE_INFINITY : level;
                scores[e] = level == 0 && (e & 1) == 0 ? -0.0 : scores[e];
            }
            brute(scores, topK, expected, taken);
            subject.select(scores, actual, 0);
            mismatches += Arrays.equals(expected, actual) ? 0 : 1;
        }
        assertThat(mismatches).isZero();
    }

    @Test
    void sortedAndReversedRowsAreNoSpecialCase() {
        for (int experts : new int[] {1, 2, 31, 32, 33, 64, 100, 511, 512, 513}) {
            double[] rising = new double[experts];
            double[] falling = new double[experts];
            for (int e = 0; e < experts; e++) {
                rising[e] = e;
                falling[e] = -e;
            }
            for (int topK : new int[] {1, Math.min(22, experts), experts}) {
                int[] into = new int[topK];
                TopK subject = new TopK(experts, topK);
                subject.select(rising, into, 0);
                assertThat(into).containsExactly(TokenwiseRouting.best(rising, topK));
                subject.select(falling, into, 0);
                assertThat(into).containsExactly(TokenwiseRouting.best(falling, topK));
            }
        }
    }

    /** In single precision as in double: the same rows, held exactly by both, give the same list of candidates. */
    @ParameterizedTest
    @CsvSource({"1, 1", "3, 2", "64, 8", "67, 9", "512, 22"})
    void listsTheSameInBothPrecisions(int experts, int topK) {
        SplittableRandom random = new SplittableRandom(experts);
        TopK subject = new TopK(experts, topK);
        double[] scores = new double[experts];
        float[] singles = new float[experts];
        int[] into = new int[topK];
        for (int row = 0; row < 2000; row++) {
            for (int e = 0; e < experts; e++) {
                singles[e] = row % 2 == 0 ? (float) random.nextDouble() : random.nextInt(3) - 1;
                scores[e] = singles[e];
            }
            float level = (float) subject.level();
            int count = subject.list(scores, level);
            int[] listed = Arrays.copyOf(subject.listed(), count);
            double reached = subject.reached();
            assertThat(subject.list(singles, level)).isEqualTo(count);
            assertThat(Arrays.copyOf(subject.listed(), count)).isEqualTo(listed);
            assertThat(listed).isSorted().hasSizeGreaterThanOrEqualTo(topK);
            for (int e = 0; e < experts; e++) {
                assertThat(Arrays.binarySearch(listed, e) >= 0).isEqualTo(scores[e] >= reached);
            }
            subject.select(scores, into, 0);
        }
    }

    /** What is wrong with a selection, in words; empty when it is the first K of a stable sort, which knows no level and no list. */
    private static String fault(double[] scores, int[] selected) {
        List<Integer> order = new ArrayList<>();
        for (int e = 0; e < scores.length; e++) {
            order.add(e);
        }
        order.sort((a, b) -> scores[a] > scores[b] ? -1 : scores[a] < scores[b] ? 1 : 0);
        for (int rank = 0; rank < selected.length; rank++) {
            if (selected[rank] != order.get(rank)) {
                return "rank " + rank + ": expected expert " + order.get(rank) + " but was " + selected[rank];
            }
        }
        return "";
    }

    /** Any numbers that can be compared: half of the rows have four values only, some of them infinite or a zero of either sign. */
    private static void draw(SplittableRandom random, double[] scores) {
        double inf = Double.POSITIVE_INFINITY;
        double[] values = {random.nextInt(4) == 0 ? inf : 1, 0.0, -0.0, random.nextInt(4) == 0 ? -inf : -1};
        boolean ties = random.nextBoolean();
        double scale = Math.scalb(1.0, random.nextInt(-300, 300));
        for (int e = 0; e < scores.length; e++) {
            scores[e] = ties ? values[random.nextInt(4)] : scale * random.nextDouble(-1, 1);
        }
    }

    private static int mismatches(int rows) {
        SplittableRandom random = new SplittableRandom(8);
        int wrong = 0;
        for (int row = 0; row < rows; ) {
            int experts = random.nextInt(3) == 0 ? 1 + random.nextInt(8) : 1 + random.nextInt(512);
            int topK = random.nextBoolean() ? 1 + random.nextInt(Math.min(experts, 16)) : 1 + random.nextInt(experts);
            TopK subject = new TopK(experts, topK);
            double[] scores = new double[experts];
            int[] selected = new int[topK];
            for (int end = Math.min(rows, row + 50); row < end; row++) {
                draw(random, scores);
                subject.select(scores, selected, 0);
                boolean alone = row % 50 == 0;
                int[] byItself = alone ? new ExpertSelection.PlainTopK().select(scores, topK) : selected;
                wrong += fault(scores, selected).isEmpty() && Arrays.equals(selected, byItself) ? 0 : 1;
            }
        }
        return wrong;
    }

    @Test
    void theOrderIsTotal() {
        int rows = 10_000;
        int wrong = mismatches(rows);
        Promise.measured(8, "selections beside a sort", wrong + " of " + rows + " rows differ");
        assertThat(wrong).isZero();
    }

    @Test
    @Tag("soak")
    void theOrderIsTotalInAMillionRows() {
        int rows = 1_000_000;
        int wrong = mismatches(rows);
        Promise.measured(8, "selections beside a sort at length", wrong + " of " + rows + " rows differ");
        assertThat(wrong).isZero();
    }

    /**
     * The level lies two mean deviations below the usual K-th largest: of 512 normal numbers the 8th largest is usually 2.15 with a
     * mean deviation of 0.1, and 13 lie above 1.95.
     */
    @ParameterizedTest
    @CsvSource({"0, 1", "-50, 1", "1000, 0.01"})
    void littleMoreIsListedThanSelected(double mean, double deviation) {
        SplittableRandom random = new SplittableRandom(5);
        TopK subject = new TopK(512, 8);
        double[] scores = new double[512];
        int[] selected = new int[8];
        int listed = 0;
        int all = 0;
        for (int token = 0; token < 3000; token++) {
            for (int e = 0; e < scores.length; e++) {
                scores[e] = mean + deviation * random.nextGaussian();
            }
            int count = subject.list(scores, subject.level());
            for (int i = 0; i < count; i++) {
                subject.values()[i] = scores[subject.listed()[i]];
            }
            subject.order(count, selected, 0);
            assertThat(subject.last()).isEqualTo(scores[selected[7]]);
            subject.learn();
            listed += token < 1000 ? 0 : count;
            all += token >= 1000 && count == 512 ? 1 : 0;
        }
        assertThat(listed / 2000.0).isBetween(10.0, 18.0);
        assertThat(all).as("tokens of which all were listed").isLessThan(5);
    }

    /** The comparison bites. */
    @Test
    void aSwappedTieAndAnExpertTwiceAreFound() {
        double[] scores = {0.0, 3, -0.0, 3};
        assertThat(fault(scores, new int[] {1, 3, 0})).isEmpty();
        assertThat(fault(scores, new int[] {3, 1, 0})).isEqualTo("rank 0: expected expert 1 but was 3");
        assertThat(fault(scores, new int[] {1, 3, 2})).isEqualTo("rank 2: expected expert 0 but was 2");
        assertThat(fault(scores, new int[] {1, 1, 0})).isEqualTo("rank 1: expected expert 3 but was 1");
        assertThat(fault(scores, new int[] {1, 3, 0, 2})).isEmpty();
    }
}
