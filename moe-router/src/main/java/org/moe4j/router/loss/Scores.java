package org.moe4j.router.loss;

/** What a balance loss takes the mean of. */
public enum Scores {
    /** The scores of the router as they are: sigmoids do not add up to 1, and the loss grows with their sum. */
    ROUTER(0),
    /** The scores of a token divided by their sum, which has to be at least 1e-290. */
    NORMALIZED(0),
    /**
     * The same with 1e-20 added to the sum: where all sigmoids of a token are far below that, its part of the loss vanishes instead of measuring
     * anything.
     */
    NORMALIZED_WITH_EPSILON(1e-20),
    /** Softmax of the logits, whatever the scores of the router are. */
    SOFTMAX_OF_LOGITS(0);

    private static final double SMALLEST =
            1e-290; // numbers below 1e-308 have lost digits, and gradients divide by the sum

    private final double epsilon;

    Scores(double epsilon) {
        this.epsilon = epsilon;
    }

    /**
     * T·E numbers; those of rows that do not count are not used.
     *
     * @param sums T numbers: set to what the scores of each token were divided by, where they were
     */
    double[] of(RoutedTokens layer, TokenGroups rows, double[] sums) {
        int experts = layer.routing().experts();
        if (this == SOFTMAX_OF_LOGITS) {
            return Softmax.rows(layer.logits(), experts, rows);
        }
        double[] all = layer.scores();
        for (int t = 0; this != ROUTER && t < layer.routing().tokens(); t++) {
            if (rows.valid(t)) {
                double sum = sum(all, t, experts);
                for (int at = t * experts; at < (t + 1) * experts; at++) {
                    all[at] /= sum;
                }
                sums[t] = sum;
            }
        }
        return all;
    }

    private double sum(double[] scores, int token, int experts) {
        double sum = epsilon;
        for (int at = token * experts; at < (token + 1) * experts; at++) {
            sum += scores[at];
        }
        if (sum < SMALLEST) {
            throw new ArithmeticException(
                    "router scores: expected a sum of at least " + SMALLEST + " but token " + token + " has " + sum);
        }
        return sum;
    }

    /**
     * Adds the gradients of the logits.
     *
     * @param u the numbers
     * @param sums what they were divided by
     * @param dU their gradients, 0 in rows that do not count; used up
     */
    void addGradients(RoutedTokens layer, double[] u, double[] sums, double[] dU, double[] into) {
        int experts = layer.routing().experts();
        if (this == SOFTMAX_OF_LOGITS) {
            Softmax.addGradients(u, dU, experts, into);
            return;
        }
        if (this != ROUTER) {
            undoQuotients(u, sums, dU, experts);
        }
        BalanceSums.add(layer.logitGradients(dU), into);
    }

    /** Of {@code u = s/(Σs + ε)}: {@code ds_e = (du_e − Σ_j du_j u_j)/(Σs + ε)}, in place. */
    private static void undoQuotients(double[] u, double[] sums, double[] dU, int experts) {
        for (int t = 0; t < sums.length; t++) {
            double sum = sums[t];
            double mean = 0;
            for (int at = t * experts; at < (t + 1) * experts; at++) {
                mean += dU[at] * u[at];
            }
            for (int at = t * experts; sum != 0 && at < (t + 1) * experts; at++) { // 0 where a row does not count
                dU[at] = (dU[at] - mean) / sum;
            }
        }
    }
}
