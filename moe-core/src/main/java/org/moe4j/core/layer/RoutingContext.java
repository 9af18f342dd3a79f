package org.moe4j.core.layer;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.moe4j.core.internal.Require;

/**
 * What a router may need beside the tokens. A padded row is routed and computed like any other; the mask and the
 * sequence lengths are for losses and statistics, the seed for noise.
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
     * Refuses a context that speaks of another number of rows.
     *
     * @param tokens T
     */
    public void requireTokens(int tokens) {
        valid.ifPresent(mask -> Require.count("context.valid", mask.rows(), tokens, "rows (tokens)"));
        if (!sequenceLengths.isEmpty()) {
            long sum = sequenceLengths.stream().mapToLong(Integer::longValue).sum();
            Require.count("context.sequenceLengths", sum, tokens, "rows in all (tokens)");
        }
    }
}
