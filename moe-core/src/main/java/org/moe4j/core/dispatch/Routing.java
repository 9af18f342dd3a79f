package org.moe4j.core.dispatch;

import java.util.Arrays;
import java.util.Objects;
import org.moe4j.core.internal.Require;

/**
 * For each token its experts and their weights: all that experts need to know of a router.
 *
 * <p>The assignments of a token have ranks 0, 1, …; the assignments of all tokens, token after token and rank after
 * rank, are the <em>slots</em>. Within a token each expert occurs at most once.
 */
public final class Routing {
    private final int experts;
    private final int topK;
    private final int[] offsets; // offsets[t] .. offsets[t + 1] are the slots of token t
    private final int[] expertIndices;
    private final double[] weights;

    private Routing(int experts, int topK, int[] offsets, int[] expertIndices, double[] weights) {
        this.experts = experts;
        this.topK = topK;
        this.offsets = offsets;
        this.expertIndices = expertIndices;
        this.weights = weights;
        check();
    }

    /**
     * Every token goes to K experts.
     *
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @param expertIndices T·K experts, token after token
     * @param weights T·K finite weights in the same order
     * @return the routing
     * @throws IllegalArgumentException for an index outside 0..E−1, an expert twice in a token, or a weight that is not
     *     finite
     */
    public static Routing of(int experts, int topK, int[] expertIndices, double[] weights) {
        Require.atLeast("experts", experts, 1);
        Require.inRange("topK", topK, 1, experts, "experts");
        if (expertIndices.length % topK != 0) {
            throw Require.expected("expertIndices", "a multiple of topK (" + topK + ") indices", expertIndices.length);
        }
        int[] offsets = new int[expertIndices.length / topK + 1];
        for (int t = 0; t < offsets.length; t++) {
            offsets[t] = t * topK;
        }
        return new Routing(experts, topK, offsets, expertIndices.clone(), weights.clone());
    }

    /**
     * Every token goes to a number of experts of its own, as with expert choice or thresholds.
     *
     * @param experts E, at least 1
     * @param tokenOffsets T + 1 positions: the slots of token t are {@code tokenOffsets[t]} to {@code tokenOffsets[t + 1]}
     * @param expertIndices one expert per slot
     * @param weights one finite weight per slot
     * @return the routing
     * @throws IllegalArgumentException for offsets that do not begin with 0, that fall, or that give a token more than E experts;
     *     for lists of another length than the last offset; for an index outside 0..E−1, an expert twice in a token, or a weight
     *     that is not finite
     */
    public static Routing ofVarying(int experts, int[] tokenOffsets, int[] expertIndices, double[] weights) {
        Require.atLeast("experts", experts, 1);
        Require.atLeast("tokenOffsets.length", tokenOffsets.length, 1);
        Require.count("tokenOffsets[0]", tokenOffsets[0], 0, "(start of the first token)");
        int topK = 0;
        for (int t = 0; t + 1 < tokenOffsets.length; t++) {
            int count = tokenOffsets[t + 1] - tokenOffsets[t];
            Require.inRange("tokenOffsets", count, 0, experts, "experts of token " + t);
            topK = Math.max(topK, count);
        }
        Require.count(
                "tokenOffsets", tokenOffsets[tokenOffsets.length - 1], expertIndices.length, "as the last position");
        return new Routing(experts, topK, tokenOffsets.clone(), expertIndices.clone(), weights.clone());
    }

    private void check() {
        Require.count("weights", weights.length, expertIndices.length, "weights (one per expert index)");
        long[] seen = new long[(experts - 1) / Long.SIZE + 1]; // a bit for each expert
        for (int t = 0; t + 1 < offsets.length; t++) {
            Arrays.fill(seen, 0);
            check(t, offsets[t], offsets[t + 1], seen);
        }
    }

    private void check(int token, int from, int to, long[] seen) {
        for (int slot = from; slot < to; slot++) {
            int expert = expertIndices[slot];
            if (expert < 0 || expert >= experts || (seen[expert / Long.SIZE] & 1L << expert) != 0) {
                throw wrong(expert, token);
            }
            seen[expert / Long.SIZE] |= 1L << expert;
        }
        double zero = 0; // stays 0 unless a weight is infinite or NaN
        for (int slot = from; slot < to; slot++) {
            zero += weights[slot] * 0;
        }
        for (int slot = from; zero != 0 && slot < to; slot++) {
            if (!Double.isFinite(weights[slot])) {
                throw Require.expected("weights", "finite weights", weights[slot] + " for token " + token);
            }
        }
    }

    private IllegalArgumentException wrong(int expert, int token) {
        return expert < 0 || expert >= experts
                ? Require.expected(
                        "expertIndices", "0.." + (experts - 1) + " (experts)", expert + " for token " + token)
                : Require.expected(
                        "expertIndices",
                        "distinct experts for each token",
                        "expert " + expert + " twice for token " + token);
    }

    /**
     * Number of tokens.
     *
     * @return T
     */
    public int tokens() {
        return offsets.length - 1;
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
     * The largest number of experts of any token.
     *
     * @return K
     */
    public int topK() {
        return topK;
    }

    /**
     * Number of all assignments.
     *
     * @return T·K when every token has K
     */
    public int slots() {
        return expertIndices.length;
    }

    /**
     * Number of experts of one token.
     *
     * @param token 0 ≤ token &lt; T
     * @return at most K
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public int count(int token) {
        return offsets[Objects.checkIndex(token, tokens()) + 1] - offsets[token];
    }

    /**
     * Slot of an assignment.
     *
     * @param token 0 ≤ token &lt; T
     * @param rank 0 ≤ rank &lt; {@code count(token)}
     * @return position in the order of tokens and ranks
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public int slot(int token, int rank) {
        int count = count(token); // first of all: it refuses a token that there is not
        return offsets[token] + Objects.checkIndex(rank, count);
    }

    /** Number of assignments of the tokens before one. */
    int slotsBefore(int token) {
        return offsets[token];
    }

    /**
     * Expert of an assignment.
     *
     * @param token 0 ≤ token &lt; T
     * @param rank 0 ≤ rank &lt; {@code count(token)}
     * @return 0 ≤ expert &lt; E
     */
    public int expert(int token, int rank) {
        return expertIndices[slot(token, rank)];
    }

    /**
     * Weight of an assignment.
     *
     * @param token 0 ≤ token &lt; T
     * @param rank 0 ≤ rank &lt; {@code count(token)}
     * @return what multiplies the expert's output
     */
    public double weight(int token, int rank) {
        return weights[slot(token, rank)];
    }

    /**
     * How many tokens chose each expert, before any capacity.
     *
     * @return E counts
     */
    public int[] tokensPerExpert() {
        int[] counts = new int[experts];
        for (int expert : expertIndices) {
            counts[expert]++;
        }
        return counts;
    }

    @Override
    public String toString() {
        return "Routing[" + tokens() + " tokens, " + experts + " experts, top " + topK + "]";
    }
}
