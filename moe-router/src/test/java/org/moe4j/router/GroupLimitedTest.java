package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.router.ExpertSelection.ClosedGroups;
import org.moe4j.router.ExpertSelection.GroupLimited;

class GroupLimitedTest {
    private static final GroupScore MAX = new GroupScore.Max();
    private static final GroupScore BEST_TWO = new GroupScore.SumOfBest(2);
    private static final GroupScore PER_KEPT = new GroupScore.TopKPerKeptGroup();

    static IntStream seeds() {
        return IntStream.range(0, 600);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void equalsTheSortedDefinition(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int size = 1 + random.nextInt(seed % 5 == 0 ? 40 : 8);
        int groups = 1 + random.nextInt(8);
        int kept = 1 + random.nextInt(groups);
        int topK = 1 + random.nextInt(kept * size);
        GroupScore score = MAX;
        if (random.nextInt(3) == 0) {
            topK = kept * Math.max(1, topK / kept);
            score = PER_KEPT;
        } else if (random.nextBoolean()) {
            score = new GroupScore.SumOfBest(1 + random.nextInt(size));
        }
        GroupLimited selection = new GroupLimited(
                groups, kept, score, random.nextBoolean() ? ClosedGroups.ZERO : ClosedGroups.MINUS_INFINITY);
        int levels = 1 + random.nextInt(20);
        double[] scores = random.ints((long) groups * size, -levels, levels)
                .mapToDouble(i -> i / 8.0) // exact sums, and ties
                .toArray();
        double[] before = scores.clone();
        int[] expected = TokenwiseRouting.best(TokenwiseRouting.restricted(selection, scores, topK), topK);
        assertThat(selection.select(scores, topK)).containsExactly(expected);
        assertThat(scores).containsExactly(before);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void oneGroupOrAllGroupsRestrictNothing(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double[] scores = random.doubles(24, -1, 1).toArray();
        int topK = 1 + random.nextInt(24);
        int[] plain = new ExpertSelection.PlainTopK().select(scores, topK);
        for (ClosedGroups closed : ClosedGroups.values()) {
            assertThat(new GroupLimited(1, 1, BEST_TWO, closed).select(scores, topK))
                    .containsExactly(plain);
            assertThat(new GroupLimited(6, 6, MAX, closed).select(scores, topK)).containsExactly(plain);
        }
    }

    /** Scores that may be off close groups only if no other scores within the error would close others: the worst are taken. */
    @ParameterizedTest
    @MethodSource("seeds")
    void uncertainGroupsStayOpen(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int m = 1 + seed % 3;
        GroupLimited selection = new GroupLimited(6, 2, new GroupScore.SumOfBest(m));
        double error = 1.0 / 8;
        double[] scores =
                random.ints(24, -9, 9).mapToDouble(i -> i / 8.0).toArray(); // sums exact, and gaps at the limit itself
        double[] closed = TokenwiseRouting.restricted(selection, scores, 4);
        double[] worst = new double[24];
        Arrays.setAll(worst, e -> scores[e] + (Double.isInfinite(closed[e]) ? error : -error));
        double[] sums = new double[6];
        for (int g = 0; g < 6; g++) {
            double[] members = Arrays.copyOfRange(worst, 4 * g, 4 * g + 4);
            for (int e : TokenwiseRouting.best(members, m)) {
                sums[g] += members[e];
            }
        }
        double kept = Double.POSITIVE_INFINITY;
        double other = Double.NEGATIVE_INFINITY;
        for (int g = 0; g < 6; g++) {
            if (Double.isInfinite(closed[4 * g])) {
                other = Math.max(other, sums[g]);
            } else {
                kept = Math.min(kept, sums[g]);
            }
        }
        double[] actual = scores.clone();
        assertThat(new GroupLimit(selection, 24, 4).close(actual, error)).isEqualTo(kept > other);
        assertThat(actual).containsExactly(kept > other ? closed : scores);
    }

    @Test
    void theGroupScoreDecidesWhichGroupsStayOpen() {
        double[] scores = {9, 0, 0, 5, 5, 0}; // the best expert against the best pair
        assertThat(new GroupLimited(2, 1, MAX).select(scores, 2)).containsExactly(0, 1);
        assertThat(new GroupLimited(2, 1, BEST_TWO).select(scores, 2)).containsExactly(3, 4);
        assertThat(new GroupLimited(2, 1, PER_KEPT).select(scores, 2)).containsExactly(3, 4);
        assertThat(new GroupLimited(2, 1, PER_KEPT).select(scores, 1)).containsExactly(0);
        assertThat(new GroupLimited(2, 1, new GroupScore.SumOfBest(3)).select(scores, 1))
                .containsExactly(3);
    }

    @Test
    void equalGroupsGoToTheLowerOne() {
        assertThat(new GroupLimited(3, 1, MAX).select(new double[] {0, 1, 1, 0, 1, 1}, 2))
                .containsExactly(1, 0);
        assertThat(new GroupLimited(3, 2, MAX).select(new double[6], 4)).containsExactly(0, 1, 2, 3);
    }

    @Test
    void closedExpertsNeverWinAtMinusInfinityButDoAtZero() {
        double[] scores = {-1, -3, -5, -4};
        assertThat(new GroupLimited(2, 1, MAX).select(scores, 2)).containsExactly(0, 1);
        assertThat(new GroupLimited(2, 1, MAX, ClosedGroups.ZERO).select(scores, 2))
                .containsExactly(2, 3);
    }

    @Test
    void megatronsTrapAtSixOfThreeGroups() {
        assertThat(PER_KEPT.best(6, 3)).isEqualTo(2); // DeepSeek-V2 itself: the maximum
        assertThat(PER_KEPT.best(8, 4)).isEqualTo(2);
        assertThat(MAX.best(6, 3)).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "16|4|3|1|max|groups: expected a divisor of 16 (experts) but was 3",
                "16|9|4|2|max|keptGroups: expected groups with at least 9 experts (topK) but was 2 of 4",
                "16|4|8|2|three|groupScore: expected 1..2 (experts of a group) but was 3",
                "16|4|16|4|two|groupScore: expected 1..1 (experts of a group) but was 2",
                "16|7|4|2|per|keptGroups: expected a divisor of 7 (topK) but was 2",
            })
    void groupsThatDoNotFitAreRefusedAtConstruction(
            int experts, int topK, int groups, int kept, String score, String message) {
        GroupScore groupScore =
                switch (score) {
                    case "max" -> MAX;
                    case "two" -> BEST_TWO;
                    case "three" -> new GroupScore.SumOfBest(3);
                    default -> PER_KEPT;
                };
        ExpertSelection selection = new GroupLimited(groups, kept, groupScore);
        assertThatThrownBy(() -> RouterConfig.topK(experts, topK).withSelection(selection))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
        assertThatThrownBy(() -> selection.select(new double[experts], topK)).hasMessage(message);
    }

    @Test
    void badCountsAreRefused() {
        assertThatThrownBy(() -> new GroupLimited(4, 5, MAX))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("keptGroups: expected 1..4 (groups) but was 5");
        assertThatThrownBy(() -> new GroupLimited(0, 1, MAX)).hasMessage("groups: expected at least 1 but was 0");
        assertThatThrownBy(() -> new GroupScore.SumOfBest(0)).hasMessage("m: expected at least 1 but was 0");
    }
}
