package org.moe4j.core.backend;

import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

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

    /**
     * Adds gradients of weights to buffers, without a second copy of the weights. What has no buffer is frozen: its
     * gradient is not computed.
     *
     * @param dOutput (N×D)
     * @param into for any of the bank's parts and of its experts a {@link Backend#buffer} of the weight's shape, another one for each
     * @return gradient of the gathered rows (N×D), the caller's
     */
    Matrix backward(Matrix dOutput, Map<BankPart, Map<Integer, Matrix>> into);

    /** Releases what was kept; doing so again changes nothing. */
    @Override
    void close();

    /**
     * Gradients of a bank.
     *
     * @param input (N×D), of the gathered rows
     * @param parts for each part of the bank E matrices of the shape of its weights
     */
    record BankGradients(Matrix input, Map<BankPart, List<Matrix>> parts) implements AutoCloseable {
        /**
         * Copies the lists.
         *
         * @param input (N×D), of the gathered rows
         * @param parts for each part of the bank E matrices of the shape of its weights
         */
        public BankGradients {
            Map<BankPart, List<Matrix>> copies = new EnumMap<>(BankPart.class);
            parts.forEach((part, matrices) -> copies.put(part, List.copyOf(matrices)));
            parts = Collections.unmodifiableMap(copies);
        }

        /**
         * Gradients of one part.
         *
         * @param part one of the bank's parts
         * @return one matrix per expert
         * @throws NoSuchElementException when the bank has no such part
         */
        public List<Matrix> get(BankPart part) {
            List<Matrix> matrices = parts.get(part);
            if (matrices == null) {
                throw new NoSuchElementException("part: expected one of " + parts.keySet() + " but was " + part);
            }
            return matrices;
        }

        /** Closes all matrices. */
        @Override
        public void close() {
            input.close();
            BankWeights.close(parts);
        }
    }
}
