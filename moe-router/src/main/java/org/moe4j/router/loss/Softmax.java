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

    /** Softmax of each row that counts; the others are 0. */
    static double[] rows(double[] logits, int experts, TokenGroups rows) {
        double[] all = new double[logits.length];
        for (int t = 0; t < logits.length / experts; t++) {
            if (rows.valid(t)) {
                double lse = logSumExp(logits, t * experts, experts);
                for (int at = t * experts; at < (t + 1) * experts; at++) {
                    all[at] = StrictMath.exp(logits[at] - lse);
                }
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
