package org.moe4j.router.analysis;

import java.util.Objects;
import org.moe4j.core.internal.Require;

/**
 * How often experts of one layer are chosen for the same token: {@code N_ij / N_i}, of the tokens of expert i the part that goes to expert j too.
 *
 * <p>Who: the expert co-activation of Muennighoff et al. 2024, OLMoE (arXiv:2409.02060, Section 5.2). It is not symmetric, for {@code N_i}
 * and {@code N_j} differ. What the paper defines and what its script counts are two rules: {@link Pairs}.
 */
public final class CoActivation {
    /** Which pairs of a token's experts are counted. */
    public enum Pairs {
        /** All: the paper's definition. */
        ALL,
        /**
         * Those next to each other in the order of the token's experts, best first: what the paper's script counts ({@code allenai/OLMoE},
         * {@code scripts/run_moe_analysis.py}, {@code pairwise}), K − 1 of K·(K − 1)/2 pairs. Needs a source that knows the order.
         */
        NEIGHBOURS
    }

    private final int experts;
    private final long[] together; // E·E, symmetric; the diagonal is N_i

    private CoActivation(int experts, long[] together) {
        this.experts = experts;
        this.together = together;
    }

    /**
     * All pairs of all tokens of a source.
     *
     * @param source of one layer
     * @return its experts' co-activation
     */
    public static CoActivation of(RoutingSource source) {
        return source.stream(new Counter(source.experts())).result();
    }

    /** Counts while tokens come. */
    public static final class Counter implements RoutingObserver {
        private static final int MOST = 46_340; // squared, less than 2^31

        private final int experts;
        private final int reach; // places between the experts of a pair, at most
        private final long[] pairs; // E·E, each pair under its larger expert

        /**
         * No tokens yet; all pairs are counted.
         *
         * @param experts E, at least 1
         */
        public Counter(int experts) {
            this(experts, Pairs.ALL);
        }

        /**
         * No tokens yet.
         *
         * @param experts E, at least 1
         * @param counted which pairs
         * @throws IllegalArgumentException for {@code experts} below 1
         */
        public Counter(int experts, Pairs counted) {
            this.experts = Require.inRange("experts", experts, 1, MOST, "whose pairs an array can count");
            reach = counted == Pairs.ALL ? experts : 1;
            pairs = new long[experts * experts];
        }

        @Override
        public void add(ChosenExperts block) {
            Require.count("block", block.experts(), experts, "experts (of the tokens before)");
            for (int t = 0; t < block.tokens(); t++) {
                for (int a = block.start(t), end = block.end(t); a < end; a++) {
                    int first = block.expert(a);
                    pairs[first * experts + first]++;
                    for (int b = a + 1, last = Math.min(end, a + 1 + reach); b < last; b++) {
                        int second = block.expert(b);
                        pairs[Math.max(first, second) * experts + Math.min(first, second)]++;
                    }
                }
            }
        }

        /**
         * The co-activation so far.
         *
         * @return not changed by later tokens
         */
        public CoActivation result() {
            long[] together = pairs.clone();
            for (int i = 0; i < experts; i++) {
                for (int j = 0; j < i; j++) {
                    together[j * experts + i] = together[i * experts + j];
                }
            }
            return new CoActivation(experts, together);
        }
    }

    /**
     * Number of experts.
     *
     * @return E
     */
    public int experts() {
        return experts;
    }

    /**
     * Tokens that go to both of two experts.
     *
     * @param i 0 ≤ i &lt; E
     * @param j 0 ≤ j &lt; E
     * @return their number; for i = j the tokens of expert i
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public long together(int i, int j) {
        return together[Objects.checkIndex(i, experts) * experts + Objects.checkIndex(j, experts)];
    }

    /**
     * Of the tokens of one expert the part that goes to another too.
     *
     * @param i whose tokens
     * @param j the other
     * @return {@code N_ij / N_i}; 0 where i has no tokens
     */
    public double share(int i, int j) {
        long own = together(i, i);
        return own == 0 ? 0 : (double) together(i, j) / own;
    }
}
