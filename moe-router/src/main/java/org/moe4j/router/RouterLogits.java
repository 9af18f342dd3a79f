package org.moe4j.router;

import java.util.Optional;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;

/** Computes {@code L = X · W_rᵀ (+ bias)}. */
final class RouterLogits {
    private static final int BLOCK = 4; // independent sums, so that additions need not wait for each other

    private static final int CHECKED_AT_ONCE = 512;

    private RouterLogits() {}

    /** T·E finite logits, token after token. */
    static double[] of(RouterPrecision precision, Matrix tokens, Matrix weight, Optional<Matrix> bias) {
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
        requireFinite(logits, experts);
        return logits;
    }

    private static double[] byBackend(Matrix tokens, Matrix weight) {
        Backend backend = weight.backend();
        try (Matrix product = backend.matmulTransB(tokens, weight)) {
            return product.toArray();
        }
    }

    private static double[] inDouble(Matrix tokens, Matrix weight) {
        double[] x = tokens.toArray();
        double[] w = weight.toArray();
        int width = weight.columns();
        int experts = weight.rows();
        double[] logits = new double[Math.multiplyExact(tokens.rows(), experts)];
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

    /** Refuses logits that are not finite: 0 times such a number is NaN, and the sum of these products tells it, many at a time. */
    static void requireFinite(double[] logits, int experts) {
        double[] block = new double[Math.min(CHECKED_AT_ONCE, logits.length)];
        double[] zeros = new double[block.length];
        int from = 0;
        for (; block.length > 0 && from + block.length <= logits.length; from += block.length) {
            System.arraycopy(logits, from, block, 0, block.length);
            for (int i = 0; i < block.length; i++) {
                zeros[i] += block[i] * 0;
            }
        }
        boolean finite = true;
        for (double zero : zeros) {
            finite &= zero == 0;
        }
        for (int i = finite ? from : 0; i < logits.length; i++) {
            if (!Double.isFinite(logits[i])) {
                throw new ArithmeticException("router logits: expected finite values but token " + i / experts
                        + ", expert " + i % experts + " is " + logits[i]);
            }
        }
    }
}
