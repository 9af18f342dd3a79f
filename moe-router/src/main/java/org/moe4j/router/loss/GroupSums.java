package org.moe4j.router.loss;

import org.moe4j.core.dispatch.Routing;

/** What a balance loss reads of one group of tokens: numbers that add up, however the tokens are cut into parts. */
final class GroupSums {
    private final double[] counts; // whole numbers: sums stay exact below 2^53
    private final double[] sums;
    private final int[] best;
    private long valid;
    private long rows;

    GroupSums(int experts, int topK) {
        counts = new double[experts];
        sums = new double[experts];
        best = new int[topK];
    }

    /**
     * Adds the tokens of a group.
     *
     * @param scores u of all tokens of the routing
     */
    void add(Routing routing, Counts counted, double[] scores, TokenGroups groups, int group) {
        rows += groups.rows(group);
        for (int t = groups.from(group); t < groups.to(group); t++) {
            if (groups.valid(t)) {
                valid++;
                counted.add(routing, t, scores, best, counts);
                for (int e = 0; e < sums.length; e++) {
                    sums[e] += scores[t * sums.length + e];
                }
            }
        }
    }

    /** Adds another group, which becomes one with this. */
    void add(GroupSums other) {
        BalanceSums.add(other.counts, counts);
        BalanceSums.add(other.sums, sums);
        valid += other.valid;
        rows += other.rows;
    }

    /** How often each expert is counted. */
    double[] counts() {
        return counts;
    }

    /** {@code Σ_t u_te} of the valid tokens. */
    double[] sums() {
        return sums;
    }

    /** Valid rows. */
    long valid() {
        return valid;
    }

    /** All rows, padded ones too. */
    long rows() {
        return rows;
    }
}
