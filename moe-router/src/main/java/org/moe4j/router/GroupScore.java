package org.moe4j.router;

import org.moe4j.core.internal.Require;

/** What a group of experts is ranked by: the sum of its m largest choice scores. */
public sealed interface GroupScore {
    /**
     * How many choice scores are added.
     *
     * @param topK K
     * @param keptGroups number of groups that stay open
     * @return m
     */
    int best(int topK, int keptGroups);

    /**
     * Refuses groups that are smaller than m.
     *
     * @param groupSize experts of a group
     * @param topK K
     * @param keptGroups number of groups that stay open
     */
    default void requireFits(int groupSize, int topK, int keptGroups) {
        Require.inRange("groupScore", best(topK, keptGroups), 1, groupSize, "experts of a group");
    }

    /** The largest choice score: DeepSeek-V2, and DeepSeek-V3's released code when there is no selection bias. */
    record Max() implements GroupScore {
        @Override
        public int best(int topK, int keptGroups) {
            return 1;
        }
    }

    /**
     * The sum of the m largest choice scores, added from the largest on: 2 in DeepSeek-V3 and OLMo-core, with the selection bias in
     * them.
     *
     * @param m at least 1, and at most the experts of a group; 1 is {@link Max}
     */
    record SumOfBest(int m) implements GroupScore {
        /**
         * Checks the number.
         *
         * @param m at least 1
         * @throws IllegalArgumentException for {@code m} below 1
         */
        public SumOfBest {
            Require.atLeast("m", m, 1);
        }

        @Override
        public int best(int topK, int keptGroups) {
            return m;
        }
    }

    /**
     * The sum of the K / keptGroups largest choice scores: Megatron-Core ({@code megatron/core/transformer/moe/moe_utils.py},
     * {@code group_limited_topk}), which requires that keptGroups divides K. For DeepSeek-V3, 8 of 4 groups, these are two; for
     * DeepSeek-V2, 6 of 3 groups, two where the model itself takes the maximum.
     */
    record TopKPerKeptGroup() implements GroupScore {
        @Override
        public int best(int topK, int keptGroups) {
            return topK / Require.atLeast("keptGroups", keptGroups, 1);
        }

        @Override
        public void requireFits(int groupSize, int topK, int keptGroups) {
            if (topK % Require.atLeast("keptGroups", keptGroups, 1) != 0) {
                throw Require.expected("keptGroups", "a divisor of " + topK + " (topK)", keptGroups);
            }
            GroupScore.super.requireFits(groupSize, topK, keptGroups);
        }
    }
}
