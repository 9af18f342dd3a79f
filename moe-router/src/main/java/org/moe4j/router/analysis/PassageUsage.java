package org.moe4j.router.analysis;

import org.moe4j.core.internal.Require;

/**
 * The load of a passage in one layer, and of its two halves.
 *
 * @param first load of the first ⌊T/2⌋ tokens
 * @param second load of all others
 */
public record PassageUsage(ExpertLoad first, ExpertLoad second) {
    /**
     * Checks that both have as many experts.
     *
     * @param first load of the first ⌊T/2⌋ tokens
     * @param second load of all others
     * @throws IllegalArgumentException for halves of different numbers of experts
     */
    public PassageUsage {
        Require.count("second", second.experts(), first.experts(), "experts (of the first half)");
    }

    /**
     * The usage of all tokens of a source.
     *
     * @param source of one layer
     * @return its usage
     */
    public static PassageUsage of(RoutingSource source) {
        return source.stream(new Counter(source.experts(), source.tokens())).result();
    }

    /**
     * The load of the whole passage.
     *
     * @return the sum of both
     */
    public ExpertLoad all() {
        return first.plus(second);
    }

    /** Counts while tokens come; it has to know how many will. */
    public static final class Counter implements RoutingObserver {
        private final long[][] counts;
        private final long half;
        private long tokens;

        /**
         * No tokens yet.
         *
         * @param experts E, at least 1
         * @param tokens T, all that will come
         * @throws IllegalArgumentException for {@code experts} below 1
         */
        public Counter(int experts, long tokens) {
            counts = new long[2][Require.atLeast("experts", experts, 1)];
            half = tokens / 2;
        }

        @Override
        public void add(ChosenExperts block) {
            Require.count("block", block.experts(), counts[0].length, "experts (of the tokens before)");
            int ofFirst = (int) Math.max(0, Math.min(block.tokens(), half - tokens));
            count(block, 0, block.start(ofFirst), counts[0]);
            count(block, block.start(ofFirst), block.slots(), counts[1]);
            tokens += block.tokens();
        }

        private static void count(ChosenExperts block, int from, int to, long[] counts) {
            for (int slot = from; slot < to; slot++) {
                counts[block.expert(slot)]++;
            }
        }

        /**
         * The usage so far.
         *
         * @return not changed by later tokens
         */
        public PassageUsage result() {
            long ofFirst = Math.min(half, tokens);
            return new PassageUsage(ExpertLoad.of(counts[0], ofFirst), ExpertLoad.of(counts[1], tokens - ofFirst));
        }
    }
}
