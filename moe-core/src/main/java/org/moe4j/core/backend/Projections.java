package org.moe4j.core.backend;

import java.util.NoSuchElementException;
import java.util.Optional;

/**
 * What an {@link Activation} joins, or the gradients of it.
 *
 * @param gate (N×F), with gated activations only
 * @param up (N×F)
 */
public record Projections(Optional<Matrix> gate, Matrix up) implements AutoCloseable {
    /**
     * Those of a gated activation.
     *
     * @param gate (N×F)
     * @param up (N×F)
     * @return both
     */
    public static Projections of(Matrix gate, Matrix up) {
        return new Projections(Optional.of(gate), up);
    }

    /**
     * That of a plain activation.
     *
     * @param up (N×F)
     * @return without a gate
     */
    public static Projections of(Matrix up) {
        return new Projections(Optional.empty(), up);
    }

    /**
     * The gate, where there has to be one.
     *
     * @return (N×F)
     */
    public Matrix gateOrThrow() {
        return gate.orElseThrow(() -> new NoSuchElementException(
                "gate: expected the product of a gate but was none; the activation is plain"));
    }

    /** Closes the matrices. */
    @Override
    public void close() {
        gate.ifPresent(Matrix::close);
        up.close();
    }
}
