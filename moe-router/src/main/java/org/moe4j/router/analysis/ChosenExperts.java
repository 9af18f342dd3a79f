package org.moe4j.router.analysis;

import java.util.Arrays;
import java.util.Objects;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;

/**
 * The experts of consecutive tokens of one layer: a block of a {@link RoutingSource}. It looks at arrays that its maker may fill
 * again: what it says holds until the next block is asked for.
 *
 * <p>The assignments of all tokens, token after token, are the <em>slots</em>; those of token t are {@code start(t)} to
 * {@code end(t) − 1}. Within a token each expert occurs at most once.
 */
public final class ChosenExperts {
    private final int experts;
    private final int topK;
    private final int tokens;
    private final int[] offsets; // none when every token has topK
    private final int[] indices;

    private ChosenExperts(int experts, int topK, int tokens, int[] offsets, int[] indices) {
        this.experts = experts;
        this.topK = topK;
        this.tokens = tokens;
        this.offsets = offsets;
        this.indices = indices;
    }

    /**
     * Every token has K experts.
     *
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @param tokens T, at least 0
     * @param indices at least T·K experts, token after token; not copied
     * @return the block
     * @throws IllegalArgumentException for an index outside 0..E−1, or an expert twice in a token
     */
    public static ChosenExperts of(int experts, int topK, int tokens, int[] indices) {
        Require.atLeast("experts", experts, 1);
        Require.inRange("topK", topK, 1, experts, "experts");
        Require.atLeast("tokens", tokens, 0);
        Require.atLeast("indices.length", indices.length, Require.product("tokens x topK", tokens, topK));
        return new ChosenExperts(experts, topK, tokens, new int[0], indices).checked();
    }

    /**
     * Every token has a number of experts of its own.
     *
     * @param experts E, at least 1
     * @param topK the largest number of experts of any token of the whole source
     * @param offsets T + 1 ascending positions: the slots of token t are {@code offsets[t]} to {@code offsets[t + 1] − 1}; not copied
     * @param indices one expert per slot; not copied
     * @return the block
     * @throws IllegalArgumentException for positions that do not ascend from 0, a token of more than K experts, an index
     *     outside 0..E−1, or an expert twice in a token
     */
    public static ChosenExperts ofVarying(int experts, int topK, int[] offsets, int[] indices) {
        Require.atLeast("experts", experts, 1);
        Require.inRange("topK", topK, 0, experts, "experts");
        Require.atLeast("offsets.length", offsets.length, 1);
        Require.count("offsets[0]", offsets[0], 0, "(start of the first token)");
        for (int t = 0; t + 1 < offsets.length; t++) {
            Require.inRange("offsets", offsets[t + 1] - offsets[t], 0, topK, "experts of token " + t);
        }
        Require.atLeast("indices.length", indices.length, offsets[offsets.length - 1]);
        return new ChosenExperts(experts, topK, offsets.length - 1, offsets, indices).checked();
    }

    /** Tokens of a routing, which has been checked. */
    static ChosenExperts of(Routing routing, int from, int tokens) {
        int[] offsets = new int[tokens + 1];
        for (int t = 0; t < tokens; t++) {
            offsets[t + 1] = offsets[t] + routing.count(from + t);
        }
        int[] indices = new int[offsets[tokens]];
        for (int t = 0; t < tokens; t++) {
            for (int rank = 0; rank < routing.count(from + t); rank++) {
                indices[offsets[t] + rank] = routing.expert(from + t, rank);
            }
        }
        return new ChosenExperts(routing.experts(), routing.topK(), tokens, offsets, indices);
    }

    private ChosenExperts checked() {
        if (experts <= Long.SIZE) {
            for (int t = 0; t < tokens; t++) {
                long seen = 0;
                for (int slot = start(t), end = end(t); slot < end; slot++) {
                    int expert = indices[slot];
                    long bit = 1L << expert;
                    if (expert < 0 || expert >= experts || (seen & bit) != 0) {
                        throw wrong(expert, t);
                    }
                    seen |= bit;
                }
            }
            return this;
        }
        int[] last = new int[experts]; // the token that chose an expert last, from 1
        for (int t = 0; t < tokens; t++) {
            for (int slot = start(t), end = end(t); slot < end; slot++) {
                int expert = indices[slot];
                if (expert < 0 || expert >= experts || last[expert] == t + 1) {
                    throw wrong(expert, t);
                }
                last[expert] = t + 1;
            }
        }
        return this;
    }

    private IllegalArgumentException wrong(int expert, int token) {
        return expert < 0 || expert >= experts
                ? Require.expected("indices", "0.." + (experts - 1) + " (experts)", expert + " for token " + token)
                : Require.expected(
                        "indices", "distinct experts for each token", "expert " + expert + " twice for token " + token);
    }

    /**
     * Number of experts of the layer.
     *
     * @return E
     */
    public int experts() {
        return experts;
    }

    /**
     * The largest number of experts of any token of the source.
     *
     * @return K
     */
    public int topK() {
        return topK;
    }

    /**
     * Number of tokens of this block.
     *
     * @return T
     */
    public int tokens() {
        return tokens;
    }

    /**
     * Number of assignments of this block.
     *
     * @return T·K when every token has K
     */
    public int slots() {
        return offsets.length == 0 ? tokens * topK : offsets[tokens];
    }

    /**
     * First slot of a token.
     *
     * @param token 0 ≤ token ≤ T
     * @return at most {@link #slots()}
     */
    public int start(int token) {
        Objects.checkIndex(token, tokens + 1);
        return offsets.length == 0 ? token * topK : offsets[token];
    }

    /**
     * The slot after the last of a token.
     *
     * @param token 0 ≤ token &lt; T
     * @return the start of the next
     */
    public int end(int token) {
        Objects.checkIndex(token, tokens);
        return start(token + 1);
    }

    /**
     * Expert of a slot, best first within a token where the source knows an order.
     *
     * @param slot 0 ≤ slot &lt; {@link #slots()}
     * @return 0 ≤ expert &lt; E
     */
    public int expert(int slot) {
        return indices[Objects.checkIndex(slot, slots())];
    }

    /** The same tokens in arrays of their own. */
    ChosenExperts copy() {
        return new ChosenExperts(experts, topK, tokens, offsets.clone(), Arrays.copyOf(indices, slots()));
    }

    /**
     * The experts of one token.
     *
     * @param token 0 ≤ token &lt; T
     * @return a copy
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public int[] expertsOf(int token) {
        Objects.checkIndex(token, tokens);
        return Arrays.copyOfRange(indices, start(token), end(token));
    }
}
