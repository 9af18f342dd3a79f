package org.moe4j.router;

import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;

/** Computes {@code L = X · W_rᵀ (+ bias)}. */
final class RouterLogits {
    private static final int BLOCK = 4; // independent sums, so that additions need not wait for each other

    private RouterLogits() {}

    /** Whether the logits are the backend's {@link #product}, and nothing else. */
    static boolean areProduct(RouterPrecision precision, Optional<Matrix> bias) {
        return precision == RouterPrecision.BACKEND && bias.isEmpty();
    }

    /** {@code X · W_rᵀ} (T×E) in the backend's precision. */
    static Matrix product(Matrix tokens, Matrix weight) {
        return weight.backend().matmulTransB(tokens, weight);
    }

    /** Finite logits, in single precision where the backend made them so and nothing was added. */
    static LogitRows of(RouterPrecision precision, Matrix tokens, Matrix weight, Optional<Matrix> bias) {
        if (areProduct(precision, bias)) {
            try (Matrix product = product(tokens, weight)) {
                return LogitRows.of(product);
            }
        }
        double[] logits = precision == RouterPrecision.DOUBLE ? inDouble(tokens, weight) : byBackend(tokens, weight);
        int experts = weight.rows();
        if (bias.isPresent()) {
            double[] added = bias.get().toArray();
            for (int from = 0; from < logits.length; from += experts) {
                for (int e = 0; e < experts; e++) {
                    logits[from + e] += added[e];
                }
            }
        }
        return LogitRows.of(experts, logits);
    }

    private static double[] byBackend(Matrix tokens, Matrix weight) {
        try (Matrix product = product(tokens, weight)) {
            return product.toArray();
        }
    }

    private static double[] inDouble(Matrix tokens, Matrix weight) {
        double[] x = tokens.toArray();
        double[] w = weight.toArray();
        int width = weight.columns();
        int experts = weight.rows();
        double[] logits = new double[Require.product("tokens x experts", tokens.rows(), experts)];
        for (int t = 0; t < tokens.rows(); t++) {
            int e = 0;
            for (; e + BLOCK <= experts; e += BLOCK) {
                block(x, t * width, w, e * width, width, logits, t * experts + e);
            }
            for (; e < experts; e++) {
                double sum = 0;
                for (int d = 0; d < width; d++) {
                    sum += x[t * width + d] * w[e * width + d];
                }
                logits[t * experts + e] = sum;
            }
        }
        return logits;
    }

    private static void block(double[] x, int fromX, double[] w, int fromW, int width, double[] into, int at) {
        double first = 0;
        double second = 0;
        double third = 0;
        double fourth = 0;
        for (int d = 0; d < width; d++) {
            double value = x[fromX + d];
            first += value * w[fromW + d];
            second += value * w[fromW + width + d];
            third += value * w[fromW + 2 * width + d];
            fourth += value * w[fromW + 3 * width + d];
        }
        into[at] = first;
        into[at + 1] = second;
        into[at + 2] = third;
        into[at + 3] = fourth;
    }
}
