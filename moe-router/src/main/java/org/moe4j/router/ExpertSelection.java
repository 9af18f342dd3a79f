package org.moe4j.router;

import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
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
     * Whether the experts of a token depend on the other tokens of the call. A selection bias, which shifts all tokens alike, is refused
     * then; and so is such a selection where one token is to be routed alone.
     *
     * @return false for those that look at one token at a time
     */
    default boolean wholeBatch() {
        return false;
    }

    /**
     * Whether a router with a selection bias may have this selection.
     *
     * @return false where a shift of all tokens' scores alike is balanced away, or moves which tokens an expert takes
     */
    default boolean takesSelectionBias() {
        return !wholeBatch();
    }

    /**
     * Whether every token has exactly K experts, whatever the scores and the seed. Only then can weights of every token add up to 1.
     *
     * @return false when a token may have fewer or more
     */
    default boolean fixedCount() {
        return true;
    }

    /**
     * Selects for one token, without randomness.
     *
     * @param choiceScores E numbers; infinities are allowed without groups; they stay as they are
     * @param topK K in 1..E
     * @return K distinct indices, best first; of equal scores the lower index first
     * @throws IllegalArgumentException for a K outside 1..E, experts that the selection does not fit, a selection that needs the
     *     {@linkplain #wholeBatch whole batch}, or a score that is NaN
     */
    default int[] select(double[] choiceScores, int topK) {
        if (wholeBatch()) {
            throw Require.expected(
                    "selection",
                    "one that looks at one token at a time",
                    this,
                    "RouterConfig.routing takes all tokens");
        }
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
         * @throws IllegalArgumentException for fewer than 1 group, or kept groups outside 1..groups
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

    /**
     * GShard's two experts: the best choice score, and a second one by a rule. K has to be 2. Weights are made of both by the
     * renormalisation; the published one is {@link Renormalization.Sum} with 1e-9 in the sum.
     *
     * <p>Who: lingvo ({@code tensorflow/lingvo}, {@code lingvo/core/gshard_layers.py}); Mesh TensorFlow ({@code tensorflow/mesh},
     * {@code transformer/moe.py}).
     *
     * @param second how the second expert is found, and whether a token keeps it
     */
    record TopTwo(SecondExpert second) implements ExpertSelection {
        @Override
        public void requireFits(int experts, int topK) {
            Require.inRange("topK", topK, 1, experts, "experts");
            Require.count("topK", topK, 2, "(the experts of a token with TopTwo)");
        }

        @Override
        public boolean fixedCount() {
            return !(second instanceof SecondExpert.Random);
        }
    }

    /**
     * The K largest entries of each row of the logits' exponentials after Sinkhorn's balancing of rows and columns. With
     * {@code A = e^L} (T×E), from {@code d = 1}: {@code c_t = 1/(T·(Σ_e d_e·A_te + 1e-8))}, {@code d_e = 1/(E·(Σ_t c_t·A_te + 1e-8))}, until the
     * mean of {@code |Δd_e|} is at most the tolerance; the experts of a token are the K largest {@code c_t·A_te·d_e}. No
     * gradient goes through it; weights are those of the router's score function and renormalisation.
     *
     * <p>Computed relative to the largest logit of each token, so that no exponential overflows, with the same result where Megatron-Core's is
     * finite ({@code moe_utils.py}, {@code sinkhorn}: in float32 it overflows from a logit of 89 on). After the last iteration
     * allowed what was reached is taken.
     *
     * <p>Megatron-Core balances in training only and ranks scores in evaluation, which is a router with {@link PlainTopK}
     * ({@link TopKRouter#withSelection}); its weights are sigmoids with K = 1 and softmax scores of all experts otherwise, not
     * renormalised.
     *
     * @param tolerance of the mean change of d, above 0; 1e-4 in Megatron-Core
     * @param maxIterations at least 1; Megatron-Core has no limit
     */
    record Sinkhorn(double tolerance, int maxIterations) implements ExpertSelection {
        /**
         * Checks the numbers.
         *
         * @param tolerance of the mean change of d, above 0
         * @param maxIterations at least 1
         * @throws IllegalArgumentException for {@code tolerance} other than a finite number above 0 or {@code maxIterations}
         *     below 1
         */
        public Sinkhorn {
            if (!(tolerance > 0) || Double.isInfinite(tolerance)) {
                throw Require.expected("tolerance", "a finite number above 0", tolerance);
            }
            Require.atLeast("maxIterations", maxIterations, 1);
        }

        /** Megatron-Core's tolerance of 1e-4, and at most 1,000 iterations. */
        public Sinkhorn() {
            this(1e-4, 1000);
        }

        @Override
        public void requireFits(int experts, int topK) {
            Require.inRange("topK", topK, 1, experts, "experts");
        }

        @Override
        public boolean wholeBatch() {
            return true;
        }
    }

    /**
     * Each expert takes its C tokens with the best choice scores, of equal ones the earlier; a token may be taken by several experts or by
     * none. C follows from the rule of a capacity, with K experts per token on average. The experts of a token are in descending order of
     * their choice scores; the published weights are the raw scores, {@link Renormalization.None}.
     *
     * <p>Where a token goes depends on all tokens of its group, later ones too: a decoder that is trained so sees what it is to predict. Rows of
     * padding are taken like others.
     *
     * <p>Who: {@code google/flaxformer} ({@code architectures/moe/routing.py}, {@code ExpertsChooseMaskedRouter}), V-MoE ({@code
     * google-research/vmoe}, {@code nn/routing.py}, {@code NoisyTopItemsPerExpertRouter}).
     *
     * @param rows C for a group; its meaning of 0 rows, {@link RowLimit.ZeroRows#NO_LIMIT}, is that every expert takes every token
     * @param groups in which experts take tokens, each for itself
     * @see <a href="https://arxiv.org/abs/2202.09368">Zhou et al. 2022: Mixture-of-Experts with Expert Choice Routing</a>
     */
    record ExpertChoice(RowLimit rows, CapacityScope groups) implements ExpertSelection {
        @Override
        public void requireFits(int experts, int topK) {
            Require.inRange("topK", topK, 1, experts, "experts");
        }

        @Override
        public boolean wholeBatch() {
            return true;
        }

        @Override
        public boolean fixedCount() {
            return false;
        }
    }

    /**
     * Replay: the experts that were recorded for the tokens of one call, whatever the scores are now. Their weights are made anew from the
     * logits, so that the router goes on learning. The recorded weights and a selection bias have no say; losses count the recorded choice.
     *
     * <p>Who: rollout routing replay (R3), where a trainer goes by the experts of the engine that wrote the text; Megatron-Core's
     * {@code RouterReplay} ({@code megatron/core/transformer/moe/router_replay.py}).
     *
     * @param routing of as many tokens as each call will have
     * @see <a href="https://arxiv.org/abs/2510.11370">Ma et al. 2025: Stabilizing MoE Reinforcement Learning by Aligning Training and Inference
     *     Routers</a>
     */
    record Recorded(Routing routing) implements ExpertSelection {
        @Override
        public void requireFits(int experts, int topK) {
            Require.count("routing", routing.experts(), experts, "experts (of the router)");
            if (fixedCount() && routing.tokens() > 0) {
                Require.count("routing", routing.topK(), topK, "experts per token (topK of the router)");
            }
        }

        @Override
        public boolean wholeBatch() {
            return true;
        }

        @Override
        public boolean takesSelectionBias() {
            return true;
        }

        @Override
        public boolean fixedCount() {
            return routing.slots() == (long) routing.tokens() * routing.topK();
        }
    }
}
