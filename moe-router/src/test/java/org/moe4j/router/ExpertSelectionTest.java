package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ExpertSelectionTest {
    private static final ExpertSelection PLAIN = new ExpertSelection.PlainTopK();
    private static final double INF = Double.POSITIVE_INFINITY;

    static IntStream seeds() {
        return IntStream.range(0, 300);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void plainTopKEqualsTheSortedStream(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int experts = 1 + random.nextInt(seed % 10 == 0 ? 600 : 40);
        int topK = 1 + random.nextInt(experts);
        int levels = 1 + random.nextInt(6); // few levels: many ties
        double[] scores = new double[experts];
        for (int e = 0; e < experts; e++) {
            scores[e] = random.nextBoolean() ? random.nextInt(levels) - levels / 2 : random.nextDouble(-2, 2);
            scores[e] = scores[e] == 0 && random.nextBoolean() ? -0.0 : scores[e];
            scores[e] = random.nextInt(8) == 0 ? -INF : scores[e];
        }
        assertThat(PLAIN.select(scores, topK)).containsExactly(TokenwiseRouting.best(scores, topK));
    }

    @Test
    void equalScoresGoToTheLowerIndex() {
        assertThat(PLAIN.select(new double[] {1, 1, 1, 1}, 2)).containsExactly(0, 1);
        assertThat(PLAIN.select(new double[] {0, 2, 1, 2, 2}, 3)).containsExactly(1, 3, 4);
        assertThat(PLAIN.select(new double[] {-0.0, 0.0, -0.0, 0.0}, 3)).containsExactly(0, 1, 2);
        assertThat(PLAIN.select(new double[] {-1, -0.0, 0.0}, 1)).containsExactly(1);
    }

    @Test
    void infinitiesAreOrderedAndNeverSelectedTwice() {
        assertThat(PLAIN.select(new double[] {-INF, -INF, -INF}, 3)).containsExactly(0, 1, 2);
        assertThat(PLAIN.select(new double[] {-INF, 1, -INF, INF}, 3)).containsExactly(3, 1, 0);
    }

    @Test
    void expertsAboveIndex255CanWin() {
        double[] scores = new double[512];
        scores[511] = 2;
        scores[300] = 1;
        assertThat(PLAIN.select(scores, 3)).containsExactly(511, 300, 0);
    }

    /** Sums of infinities have no order. */
    @Test
    void infinitiesAreRefusedWithGroups() {
        ExpertSelection grouped = new ExpertSelection.GroupLimited(2, 1, new GroupScore.SumOfBest(2));
        assertThatThrownBy(() -> grouped.select(new double[] {1, 1, INF, -INF}, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("choiceScores: expected numbers that can be added but was Infinity for expert 2");
    }

    @Test
    void badArgumentsAreRefused() {
        assertThatThrownBy(() -> PLAIN.select(new double[] {1, Double.NaN}, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("choiceScores: expected numbers that can be compared but was NaN for expert 1");
        assertThatThrownBy(() -> PLAIN.select(new double[64], 65))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("topK: expected 1..64 (experts) but was 65");
        assertThatThrownBy(() -> PLAIN.select(new double[64], 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("topK: expected 1..64 (experts) but was 0");
    }
}
