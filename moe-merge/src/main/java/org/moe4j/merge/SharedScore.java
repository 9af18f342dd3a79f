package org.moe4j.merge;

import java.util.Arrays;

/**
 * How the n gate values z of a token become the coefficients c of its n shared experts. All of it is {@code double} on the
 * host, with {@code σ(z) = 1/(1 + e^−z)}.
 */
public enum SharedScore {
    /**
     * Each for itself: {@code c_j = σ(z_j)}. With one expert the gate of Qwen1.5-MoE and its successors; with several,
     * Equation 78 of the report on Olmo's MoE recipe.
     */
    SIGMOID,

    /**
     * {@code c_j = e^z_j / Σ_i e^z_i} over the shared experts, with the maximum subtracted: a shared router as in
     * OLMo-core, without a factor K.
     */
    SOFTMAX,

    /**
     * {@code c_j = σ(z_j) / Σ_i σ(z_i)}, computed as the softmax of {@code ln σ(z)}, so that sigmoids that underflow keep
     * their ratio: for very negative z it becomes the softmax of z. OLMo-core with {@code normalize_expert_weights = 1} adds
     * 1e-7 to each σ instead, which makes such coefficients equal.
     */
    NORMALIZED_SIGMOID;

    /** Whether the coefficients of a token add up to 1. */
    boolean normalized() {
        return this != SIGMOID;
    }

    /** c of z, T rows of n numbers each; z must be finite where the coefficients are normalised. */
    double[] coefficients(double[] z, int experts) {
        double[] c = z.clone();
        switch (this) {
            case SIGMOID -> Arrays.setAll(c, i -> sigmoid(z[i]));
            case SOFTMAX -> softmax(c, experts);
            case NORMALIZED_SIGMOID -> {
                Arrays.setAll(c, i -> logSigmoid(z[i]));
                softmax(c, experts);
            }
        }
        return c;
    }

    /**
     * dz of dc. With {@code d = Σ_i c_i·dc_i} per token: {@code c_j·σ(−z_j)·dc_j}, {@code c_j·(dc_j − d)} and
     * {@code c_j·σ(−z_j)·(dc_j − d)}, in the order of the constants.
     */
    double[] backward(double[] z, double[] c, double[] dC, int experts) {
        double[] dZ = new double[z.length];
        for (int from = 0; from < z.length; from += experts) {
            double mean = 0;
            for (int i = from; normalized() && i < from + experts; i++) {
                mean += c[i] * dC[i];
            }
            for (int i = from; i < from + experts; i++) {
                dZ[i] = c[i] * (this == SOFTMAX ? 1 : sigmoid(-z[i])) * (dC[i] - mean);
            }
        }
        return dZ;
    }

    /** In place, for every row of n numbers. */
    private static void softmax(double[] rows, int experts) {
        for (int from = 0; from < rows.length; from += experts) {
            double max = rows[from];
            for (int i = from + 1; i < from + experts; i++) {
                max = Math.max(max, rows[i]);
            }
            double sum = 0;
            for (int i = from; i < from + experts; i++) {
                rows[i] = StrictMath.exp(rows[i] - max);
                sum += rows[i];
            }
            for (int i = from; i < from + experts; i++) {
                rows[i] /= sum;
            }
        }
    }

    /** Right to the smallest number there is: the power never overflows. */
    private static double sigmoid(double z) {
        double power = StrictMath.exp(-Math.abs(z));
        return z < 0 ? power / (1 + power) : 1 / (1 + power);
    }

    private static double logSigmoid(double z) {
        return Math.min(z, 0) - StrictMath.log1p(StrictMath.exp(-Math.abs(z)));
    }
}
