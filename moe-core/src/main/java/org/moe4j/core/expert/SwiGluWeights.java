package org.moe4j.core.expert;

import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;

/**
 * The weights of one SwiGLU expert {@code y = (silu(x·gateᵀ) ⊙ (x·upᵀ)) · downᵀ}, stored (out × in) as in checkpoints.
 *
 * @param gate (F×D)
 * @param up (F×D)
 * @param down (D×F)
 */
public record SwiGluWeights(Matrix gate, Matrix up, Matrix down) implements AutoCloseable {
    /**
     * Checks that the three shapes fit and that one backend owns them.
     *
     * @param gate (F×D)
     * @param up (F×D)
     * @param down (D×F)
     * @throws IllegalArgumentException for {@code up} or {@code down} of another shape or backend
     */
    public SwiGluWeights {
        KernelChecks.owner("up", up, gate.backend());
        KernelChecks.owner("down", down, gate.backend());
        KernelChecks.shape("up", up, gate.rows(), gate.columns(), "shape of gate");
        KernelChecks.shape("down", down, gate.columns(), gate.rows(), "transposed shape of gate");
    }

    /**
     * Width of a token.
     *
     * @return D
     */
    public int hiddenSize() {
        return gate.columns();
    }

    /**
     * Width inside the expert.
     *
     * @return F
     */
    public int intermediateSize() {
        return gate.rows();
    }

    /** Closes the three handles. */
    @Override
    public void close() {
        gate.close();
        up.close();
        down.close();
    }
}
