package org.moe4j.bench.study.budget;

import java.util.Arrays;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.UsageDistance;

/**
 * How differently the groups of tokens use the experts, by the total variation {@code TV(p, q) = ½ Σ_e |p_e − q_e|} of load
 * distributions: {@code p_e} is the part of the assignments of a group's tokens that goes to expert e.
 *
 * @param betweenGroups mean of TV over all pairs of groups: 0 when all groups use the experts alike, 1 when no two share one
 * @param withinGroups mean over groups of TV between every other token of a group and the rest of it: what chance alone makes
 *     of half as many tokens
 */
record Specialization(double betweenGroups, double withinGroups) {
    /**
     * Of tokens in groups, none of which may be empty or have a single token.
     *
     * @param routing experts of the tokens
     * @param group of each token, from 0
     * @param groups how many
     */
    static Specialization of(Routing routing, int[] group, int groups) {
        long[][][] halves = new long[groups][2][routing.experts()];
        int[] seen = new int[groups];
        for (int t = 0; t < routing.tokens(); t++) {
            long[] counts = halves[group[t]][seen[group[t]]++ % 2];
            for (int rank = 0; rank < routing.count(t); rank++) {
                counts[routing.expert(t, rank)]++;
            }
        }
        double between = 0;
        double within = 0;
        for (int g = 0; g < groups; g++) {
            within += UsageDistance.totalVariation(load(halves[g][0]), load(halves[g][1])) / groups;
            for (int h = 0; h < g; h++) {
                between += UsageDistance.totalVariation(all(halves[g]), all(halves[h])) / (groups * (groups - 1) / 2.0);
            }
        }
        return new Specialization(between, within);
    }

    private static ExpertLoad all(long[][] halves) {
        return load(halves[0]).plus(load(halves[1]));
    }

    private static ExpertLoad load(long[] counts) {
        return ExpertLoad.of(counts, Arrays.stream(counts).sum());
    }
}
