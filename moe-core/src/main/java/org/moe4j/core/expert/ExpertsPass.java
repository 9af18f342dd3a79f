package org.moe4j.core.expert;

import java.util.Set;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

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

    /**
     * Adds the gradients of some weights into buffers; all other weights are frozen. The default makes the gradients of
     * all weights and adds the wanted ones; a bank that can, adds them where it makes them. Names and buffers are the
     * caller's to check before.
     *
     * @param dOutput (N×D)
     * @param wanted names of weights, as in {@link Experts#parameters}
     * @param into a {@link org.moe4j.core.backend.Backend#buffer} of the weight's shape under each wanted name
     * @return gradient of the gathered rows (N×D), the caller's
     */
    default Matrix backward(Matrix dOutput, Set<String> wanted, Parameters into) {
        return backward(dOutput).addInto(wanted, into);
    }

    /** Releases what was kept. */
    @Override
    void close();
}
