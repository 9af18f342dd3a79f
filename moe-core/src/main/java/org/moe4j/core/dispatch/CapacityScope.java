package org.moe4j.core.dispatch;

import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.core.internal.Require;

/** The groups of consecutive tokens in which rows are counted, each for itself: its own C, its own drops. */
public sealed interface CapacityScope {
    /**
     * All tokens of a call together: Megatron-Core, MegaBlocks, OLMo-core.
     *
     * @return the whole batch as one group
     */
    static CapacityScope batch() {
        return new Batch();
    }

    /**
     * Groups of equal size: GShard, Switch, flaxformer, V-MoE.
     *
     * @param tokens S, at least 1
     * @return consecutive groups; the last may be shorter
     */
    static CapacityScope groups(int tokens) {
        return new Groups(tokens);
    }

    /**
     * The sequences of the call, as its routing context names them; without lengths all tokens are one sequence.
     * Transformers' Switch counts in each sequence of the batch.
     *
     * @return each sequence as one group
     */
    static CapacityScope sequences() {
        return new Sequences();
    }

    /**
     * Where groups begin and end.
     *
     * @param tokens T
     * @param sequenceLengths lengths of consecutive sequences that add up to T; empty for one sequence
     * @return ascending positions from 0 to T, one more than groups
     */
    int[] bounds(int tokens, List<Integer> sequenceLengths);

    /** The whole batch is one group. */
    record Batch() implements CapacityScope {
        @Override
        public int[] bounds(int tokens, List<Integer> sequenceLengths) {
            return new int[] {0, tokens};
        }
    }

    /**
     * Groups of S tokens. What is left at the end is a group of its own, whose C follows from its own tokens: it gets what
     * it would get alone. (The frameworks demand a multiple of S or fill up with padding, of which C then counts too.)
     *
     * @param tokens S, at least 1
     */
    record Groups(int tokens) implements CapacityScope {
        /**
         * Checks the size.
         *
         * @param tokens S, at least 1
         * @throws IllegalArgumentException for {@code groupSize} below 1
         */
        public Groups {
            Require.atLeast("groupSize", tokens, 1);
        }

        @Override
        public int[] bounds(int all, List<Integer> sequenceLengths) {
            int groups = all / tokens + (all % tokens == 0 ? 0 : 1);
            return IntStream.rangeClosed(0, groups)
                    .map(g -> g == groups ? all : g * tokens)
                    .toArray();
        }
    }

    /** Each sequence is a group; an empty one is an empty group. */
    record Sequences() implements CapacityScope {
        @Override
        public int[] bounds(int tokens, List<Integer> sequenceLengths) {
            if (sequenceLengths.isEmpty()) {
                return new int[] {0, tokens};
            }
            long sum = sequenceLengths.stream().mapToLong(Integer::longValue).sum();
            Require.count("sequenceLengths", sum, tokens, "tokens in all");
            int[] bounds = new int[sequenceLengths.size() + 1];
            for (int s = 0; s < sequenceLengths.size(); s++) {
                bounds[s + 1] = bounds[s] + Require.atLeast("sequenceLengths", sequenceLengths.get(s), 0);
            }
            return bounds;
        }
    }
}
