package org.moe4j.core.backend;

import java.util.List;

/** What one forward run of a {@link Bank} computed, and its backward. */
public interface BankPass extends AutoCloseable {
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
     * @return gradients of the gathered rows and of all weights; an expert without rows gets zeros
     */
    BankGradients backward(Matrix dOutput);

    /** Releases what was kept; doing so again changes nothing. */
    @Override
    void close();

    /**
     * Gradients of a bank.
     *
     * @param input (N×D), of the gathered rows
     * @param gate E matrices (F×D)
     * @param up E matrices (F×D)
     * @param down E matrices (D×F)
     */
    record BankGradients(Matrix input, List<Matrix> gate, List<Matrix> up, List<Matrix> down) {
        /**
         * Copies the lists.
         *
         * @param input (N×D), of the gathered rows
         * @param gate E matrices (F×D)
         * @param up E matrices (F×D)
         * @param down E matrices (D×F)
         */
        public BankGradients {
            gate = List.copyOf(gate);
            up = List.copyOf(up);
            down = List.copyOf(down);
        }
    }
}
