package org.moe4j.core.expert;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Gradients;

/** Result and backward of one run of a bank. */
public interface ExpertsPass extends AutoCloseable {
    /**
     * Output of the experts; it belongs to the pass and is closed with it.
     *
     * @return (N×D)
     */
    Matrix output();

    /**
     * Gradients of {@code Σ output ⊙ dOutput}; they belong to the caller.
     *
     * @param dOutput (N×D)
     * @return input (N×D, of the gathered rows) and all weights
     */
    Gradients backward(Matrix dOutput);

    /** Releases what was kept. */
    @Override
    void close();
}
