package org.moe4j.router.loss;

/** Softmax of rows, relative to their largest number, so that no power overflows. */
final class Softmax {
    private Softmax() {}

    /** {@code ln Σ_e e^(l_e)} of the numbers from a position on. */
    static double logSumExp(double[] logits, int from, int count) {
        double max = Double.NEGATIVE_INFINITY;
        for (int at = from; at < from + count; at++) {
            max = Math.max(max, logits[at]);
        }
        double sum = 0;
        for (int at = from; at < from + count; at++) {
            sum += StrictMath.exp(logits[at] - max);
        }
        return max + StrictMath.log(sum);
    }

    /**
     * Softmax of the numbers from a position on, written to another place: relative to the
     * largest, since the logarithm of the sum beside large logits has no room for its own digits.
     *
     * @return {@link #logSumExp}
     */
    static double row(double[] logits, int from, int count, double[] into, int at) {
        double max = Double.NEGATIVE_INFINITY;
        for (int e = 0; e < count; e++) {
            max = Math.max(max, logits[from + e]);
        }
        double sum = 0;
        for (int e = 0; e < count; e++) {
            into[at + e] = StrictMath.exp(logits[from + e] - max);
            sum += into[at + e];
        }
        for (int e = 0; e < count; e++) {
            into[at + e] /= sum;
        }
        return max + StrictMath.log(sum);
    }

    /** Softmax of each row that counts; the others are 0. */
    static double[] rows(double[] logits, int experts, TokenGroups rows) {
        double[] all = new double[logits.length];
        for (int t = 0; t < logits.length / experts; t++) {
            if (rows.valid(t)) {
                row(logits, t * experts, experts, all, t * experts);
            }
        }
        return all;
    }

    /** Adds {@code p ⊙ (dp − ⟨p, dp⟩)} of each row. */
    static void addGradients(double[] p, double[] dP, int experts, double[] into) {
        for (int from = 0; from < p.length; from += experts) {
            double mean = 0;
            for (int at = from; at < from + experts; at++) {
                mean += p[at] * dP[at];
            }
            for (int at = from; at < from + experts; at++) {
                into[at] += p[at] * (dP[at] - mean);
            }
        }
    }
}
