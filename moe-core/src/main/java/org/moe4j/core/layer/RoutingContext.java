package org.moe4j.core.layer;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.moe4j.core.internal.Require;

/**
 * What a router may need beside the tokens. A padded row is routed and computed like any other; the mask and the
 * sequence lengths are for losses, statistics, and what is decided by sequences (capacity, expert choice); the seed is for noise. Layers
 * that run with one seed draw the same noise: give each of them its own.
 *
 * @param valid which rows count; empty: all
 * @param sequenceLengths lengths of consecutive sequences that make up the rows; empty: one sequence
 * @param noiseSeed seed of this call's noise; empty: no noise
 */
public record RoutingContext(Optional<RowMask> valid, List<Integer> sequenceLengths, OptionalLong noiseSeed) {
    private static final RoutingContext PLAIN = new RoutingContext(Optional.empty(), List.of(), OptionalLong.empty());

    /**
     * Copies the list and checks it.
     *
     * @param valid which rows count; empty: all
     * @param sequenceLengths lengths of consecutive sequences that make up the rows; empty: one sequence
     * @param noiseSeed seed of this call's noise; empty: no noise
     * @throws IllegalArgumentException for {@code sequenceLengths} below 0
     */
    public RoutingContext {
        sequenceLengths = List.copyOf(sequenceLengths);
        sequenceLengths.forEach(length -> Require.atLeast("sequenceLengths", length, 0));
    }

    /**
     * All rows valid, one sequence, no noise.
     *
     * @return the plain context
     */
    public static RoutingContext plain() {
        return PLAIN;
    }

    /**
     * The same context with noise.
     *
     * @param seed of this call's noise: the same seed gives the same noise
     * @return a changed copy
     */
    public RoutingContext withSeed(long seed) {
        return new RoutingContext(valid, sequenceLengths, OptionalLong.of(seed));
    }

    /**
     * The same context with a mask of the rows that count.
     *
     * @param mask one mark per row
     * @return a changed copy
     */
    public RoutingContext withValid(RowMask mask) {
        return new RoutingContext(Optional.of(mask), sequenceLengths, noiseSeed);
    }

    /**
     * The same context with rows that are several sequences.
     *
     * @param lengths of consecutive sequences
     * @return a changed copy
     */
    public RoutingContext withSequences(int... lengths) {
        return new RoutingContext(valid, Arrays.stream(lengths).boxed().toList(), noiseSeed);
    }

    /**
     * The seed of one use of this call's noise: other uses, as jitter of the tokens and noise on the logits, draw other numbers.
     *
     * @param use its name
     * @return a seed made from {@link #noiseSeed()} and the name; empty without noise
     */
    public OptionalLong noiseSeed(String use) {
        return noiseSeed.isEmpty()
                ? noiseSeed
                : OptionalLong.of(
                        new SplittableRandom(noiseSeed.getAsLong() + use.hashCode() * 0x9E3779B97F4A7C15L).nextLong());
    }

    /**
     * Refuses a context that speaks of another number of rows.
     *
     * @param tokens T
     * @throws IllegalArgumentException for a mask or sequences of another number of tokens
     */
    public void requireTokens(int tokens) {
        valid.ifPresent(mask -> Require.count("context.valid", mask.rows(), tokens, "rows (tokens)"));
        if (!sequenceLengths.isEmpty()) {
            long sum = sequenceLengths.stream().mapToLong(Integer::longValue).sum();
            Require.count("context.sequenceLengths", sum, tokens, "rows in all (tokens)");
        }
    }
}
