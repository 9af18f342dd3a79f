package org.moe4j.bench.study.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.moe4j.core.dispatch.Routing;

final class SpecializationTest {
    private static Routing topOne(int experts, int... chosen) {
        double[] weights = new double[chosen.length];
        Arrays.fill(weights, 1);
        return Routing.of(experts, 1, chosen, weights);
    }

    /** Loads (½, ½, 0) and (0, ½, ½): half the sum of ½, 0 and ½. Within: (1, 0, 0) beside (0, 1, 0), and the like: 1. */
    @Test
    void halfTheSumOfTheDifferences() {
        Specialization found = Specialization.of(topOne(3, 0, 1, 1, 2), new int[] {0, 1, 0, 1}, 2);
        assertThat(found.betweenGroups()).isEqualTo(0.5);
        assertThat(Specialization.of(topOne(3, 0, 1, 1, 2), new int[] {0, 0, 1, 1}, 2)
                        .withinGroups())
                .isEqualTo(1);
    }

    @Test
    void groupsWithExpertsOfTheirOwnAreOneApart() {
        Specialization found = Specialization.of(topOne(4, 0, 0, 1, 1, 3, 3), new int[] {0, 0, 1, 1, 2, 2}, 3);
        assertThat(found.betweenGroups()).isCloseTo(1, within(1e-15));
        assertThat(found.withinGroups()).isZero();
    }

    /** Three pairs: 1, ½ and ½. A group of twice as many tokens counts as any other. */
    @Test
    void theMeanIsOverPairs() {
        Specialization found =
                Specialization.of(topOne(2, 0, 0, 0, 0, 1, 1, 0, 1), new int[] {0, 0, 0, 0, 1, 1, 2, 2}, 3);
        assertThat(found.betweenGroups()).isCloseTo((1 + 0.5 + 0.5) / 3, within(1e-15));
    }

    /** All K assignments of a token count: (¼, ¼, ½) beside (½, ¼, ¼). */
    @Test
    void everyAssignmentCounts() {
        double[] weights = {1, 1, 1, 1, 1, 1, 1, 1};
        Routing routing = Routing.of(3, 2, new int[] {0, 2, 1, 2, 0, 1, 0, 2}, weights);
        assertThat(Specialization.of(routing, new int[] {0, 0, 1, 1}, 2).betweenGroups())
                .isEqualTo(0.25);
    }

    /** Random assignments: what is found between groups is chance, and so is what is found within, of half as many tokens. */
    @Test
    void chanceAloneIsSmall() {
        int tokens = 40_000;
        SplittableRandom random = new SplittableRandom(3);
        int[] chosen = random.ints(tokens, 0, 8).toArray();
        int[] groups = random.ints(tokens, 0, 4).toArray();
        Specialization found = Specialization.of(topOne(8, chosen), groups, 4);
        // E|p − q| of two shares of about ⅛ of n tokens each: √(2/π)·√(2·⅛·⅞/n); half of 8 of them, n 10000 or 5000
        double between = 4 * Math.sqrt(2 / Math.PI) * Math.sqrt(2 * 7 / 64.0 / 10_000);
        assertThat(found.betweenGroups()).isCloseTo(between, within(0.5 * between));
        assertThat(found.withinGroups()).isCloseTo(Math.sqrt(2) * between, within(0.5 * between));
    }
}
