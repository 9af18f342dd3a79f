package org.moe4j.router;

import org.moe4j.core.internal.Require;

/**
 * Picks the experts of a token by their choice scores. The order is total: larger score first, and of equal scores
 * (−0 equals +0) the lower index first. Selection has no gradient.
 */
public sealed interface ExpertSelection {
    /** What the choice scores of the experts of closed groups become. */
    enum ClosedGroups {
        /** They can never be selected: DeepSeek-V3's released code, Megatron-Core, OLMo-core. */
        MINUS_INFINITY,
        /**
         * For compatibility with Transformers' {@code deepseek_v2} and {@code deepseek_v3} only: a closed expert outranks an open one
         * whose choice score is negative, which a selection bias (or ranking by logits) can make it.
         */
        ZERO
    }

    /**
     * Refuses numbers of experts that this selection cannot choose from.
     *
     * @param experts E
     * @param topK K in 1..E
     */
    void requireFits(int experts, int topK);

    /**
     * Selects for one token.
     *
     * @param choiceScores E numbers; infinities are allowed without groups; they stay as they are
     * @param topK K in 1..E
     * @return K distinct indices, best first; of equal scores the lower index first
     * @throws IllegalArgumentException for a K outside 1..E, experts that the groups do not fit, or a score that is NaN
     */
    default int[] select(double[] choiceScores, int topK) {
        Require.inRange("topK", topK, 1, choiceScores.length, "experts");
        requireFits(choiceScores.length, topK);
        for (int e = 0; e < choiceScores.length; e++) {
            if (Double.isNaN(choiceScores[e])) {
                throw Require.expected("choiceScores", "numbers that can be compared", "NaN for expert " + e);
            }
            if (this instanceof GroupLimited && Double.isInfinite(choiceScores[e])) {
                throw Require.expected(
                        "choiceScores", "numbers that can be added", choiceScores[e] + " for expert " + e);
            }
        }
        double[] open = choiceScores.clone();
        if (this instanceof GroupLimited limited) {
            new GroupLimit(limited, open.length, topK).close(open);
        }
        int[] selected = new int[topK];
        new TopK(open.length, topK).select(open, selected, 0);
        return selected;
    }

    /** The K largest choice scores of all experts. */
    record PlainTopK() implements ExpertSelection {
        @Override
        public void requireFits(int experts, int topK) {
            Require.inRange("topK", topK, 1, experts, "experts");
        }
    }

    /**
     * The K largest choice scores of the best groups. Experts 0 … E/groups − 1 are the first group, and so on; a group is as good as
     * its {@link GroupScore}, made from the choice scores; of equal groups the lower one is better. With one group, or all
     * groups kept, nothing is restricted.
     *
     * <p>Who: DeepSeek-V2 (3 of 8 groups by their maximum) and DeepSeek-V3 (4 of 8 by their two best):
     * {@code deepseek-ai/DeepSeek-V3}, {@code inference/model.py}, {@code Gate}.
     *
     * @param groups number of groups, at least 1; has to divide E
     * @param keptGroups how many stay open, in 1..groups; together they need at least K experts
     * @param groupScore what a group is ranked by
     * @param closedGroups what the experts of the others get
     */
    record GroupLimited(int groups, int keptGroups, GroupScore groupScore, ClosedGroups closedGroups)
            implements ExpertSelection {
        /**
         * Checks the counts.
         *
         * @param groups number of groups, at least 1
         * @param keptGroups how many stay open, in 1..groups
         * @param groupScore what a group is ranked by
         * @param closedGroups what the experts of the others get
         */
        public GroupLimited {
            Require.atLeast("groups", groups, 1);
            Require.inRange("keptGroups", keptGroups, 1, groups, "groups");
        }

        /**
         * With closed groups at minus infinity.
         *
         * @param groups number of groups, at least 1
         * @param keptGroups how many stay open, in 1..groups
         * @param groupScore what a group is ranked by
         */
        public GroupLimited(int groups, int keptGroups, GroupScore groupScore) {
            this(groups, keptGroups, groupScore, ClosedGroups.MINUS_INFINITY);
        }

        @Override
        public void requireFits(int experts, int topK) {
            if (experts % groups != 0) {
                throw Require.expected("groups", "a divisor of " + experts + " (experts)", groups);
            }
            int size = experts / groups;
            if (keptGroups * size < topK) {
                throw Require.expected(
                        "keptGroups", "groups with at least " + topK + " experts (topK)", keptGroups + " of " + size);
            }
            groupScore.requireFits(size, topK, keptGroups);
        }
    }
}
