package org.moe4j.router.analysis;

import org.moe4j.core.internal.Require;

/**
 * How much of a later routing an earlier one has already: the mean over tokens of {@code |A_t ∩ B_t| / |B_t|}, A_t and B_t being the experts of a
 * token in an earlier and in a later (as the final) checkpoint. Tokens without an expert in the later routing do not count.
 *
 * <p>Who: the router saturation of Muennighoff et al. 2024, OLMoE (arXiv:2409.02060, Section 5.1), of the top k of both checkpoints. Independent
 * uniform routing has K/E.
 *
 * @param tokens that count
 * @param saturation the mean, in 0..1; 0 without tokens
 */
public record RouterSaturation(long tokens, double saturation) {
    /**
     * Compares two routings of the same tokens.
     *
     * @param earlier of one layer
     * @param later of the same layer and tokens
     * @return how much of the later routing the earlier has
     * @throws IllegalArgumentException for sources of different numbers of experts or tokens
     */
    public static RouterSaturation of(RoutingSource earlier, RoutingSource later) {
        Require.count("earlier", earlier.experts(), later.experts(), "experts (of the later routing)");
        Require.count("earlier", earlier.tokens(), later.tokens(), "tokens (of the later routing)");
        long tokens = 0;
        double sum = 0;
        long[] last = new long[later.experts()]; // the token whose earlier experts have an expert, from 1
        for (long from = 0; from < later.tokens(); from += RoutingSource.BLOCK) {
            int count = (int) Math.min(RoutingSource.BLOCK, later.tokens() - from);
            ChosenExperts before = earlier.block(from, count).copy(); // both may read into one array
            ChosenExperts after = later.block(from, count);
            for (int t = 0; t < count; t++) {
                int same = same(before, after, t, last, from + t + 1);
                int all = after.end(t) - after.start(t);
                tokens += all > 0 ? 1 : 0;
                sum += all > 0 ? (double) same / all : 0;
            }
        }
        return new RouterSaturation(tokens, tokens == 0 ? 0 : sum / tokens);
    }

    private static int same(ChosenExperts before, ChosenExperts after, int token, long[] last, long mark) {
        for (int slot = before.start(token); slot < before.end(token); slot++) {
            last[before.expert(slot)] = mark;
        }
        int same = 0;
        for (int slot = after.start(token); slot < after.end(token); slot++) {
            same += last[after.expert(slot)] == mark ? 1 : 0;
        }
        return same;
    }
}
