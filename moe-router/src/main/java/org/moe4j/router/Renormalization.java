package org.moe4j.router;

import org.moe4j.core.internal.Require;

/** Turns the scores of the K selected experts into weights, before the router's scale. */
public sealed interface Renormalization {
    /**
     * Whether the weights of a token add up to 1, whatever its scores.
     *
     * @return false when the routed mass depends on the scores
     */
    boolean unitSum();

    /**
     * Weights of one token among many.
     *
     * @param selected scores of its K experts
     * @param token 0 ≤ token &lt; T
     * @param into T·K numbers; those of the token are overwritten
     * @throws ArithmeticException when the scores have no sum to divide by; the message names the token
     */
    void weights(double[] selected, int token, double[] into);

    /**
     * Gradients of the selected scores, given those of the weights.
     *
     * @param selected scores of the K experts, as given forward
     * @param dWeights K gradients of the weights
     * @param into K numbers, overwritten
     */
    void scoreGradients(double[] selected, double[] dWeights, double[] into);

    /**
     * Weights of one token.
     *
     * @param selected scores of its K experts
     * @return K weights
     * @throws ArithmeticException when the scores have no sum to divide by
     */
    default double[] weights(double[] selected) {
        double[] weights = new double[selected.length];
        weights(selected, 0, weights);
        return weights;
    }

    /**
     * Gradients of the selected scores of one token.
     *
     * @param selected scores of its K experts
     * @param dWeights K gradients of the weights
     * @return K gradients of the scores
     */
    default double[] scoreGradients(double[] selected, double[] dWeights) {
        Require.count("dWeights", dWeights.length, selected.length, "numbers (one per selected score)");
        double[] dSelected = new double[selected.length];
        scoreGradients(selected, dWeights, dSelected);
        return dSelected;
    }

    /** {@code w_j = s_j}: the routed mass is what the selected scores add up to. */
    record None() implements Renormalization {
        @Override
        public boolean unitSum() {
            return false;
        }

        @Override
        public void weights(double[] selected, int token, double[] into) {
            System.arraycopy(selected, 0, into, token * selected.length, selected.length);
        }

        @Override
        public void scoreGradients(double[] selected, double[] dWeights, double[] into) {
            System.arraycopy(dWeights, 0, into, 0, into.length);
        }
    }

    /**
     * {@code w_j = s_j / Σ_r s_r} over the K selected, without an epsilon: a zero sum is an {@link ArithmeticException}.
     * After {@link ScoreFunction.Softmax} this equals the softmax of the K selected logits. With K = 1 the weight is
     * always 1 and its gradient 0, so that the router learns from losses alone.
     *
     * <p>Derivative: {@code ds_j = (dw_j − Σ_r dw_r·w_r) / Σ_r s_r}.
     */
    record Sum() implements Renormalization {
        @Override
        public boolean unitSum() {
            return true;
        }

        @Override
        public void weights(double[] selected, int token, double[] into) {
            double sum = sum(selected);
            if (sum == 0) {
                throw new ArithmeticException(
                        "router weights: expected selected scores with a sum other than 0 but token " + token + " has "
                                + sum);
            }
            int from = token * selected.length;
            for (int j = 0; j < selected.length; j++) {
                into[from + j] = selected[j] / sum;
            }
        }

        @Override
        public void scoreGradients(double[] selected, double[] dWeights, double[] into) {
            double sum = sum(selected);
            double mean = 0;
            for (int j = 0; j < selected.length; j++) {
                mean += dWeights[j] * (selected[j] / sum);
            }
            for (int j = 0; j < selected.length; j++) {
                into[j] = (dWeights[j] - mean) / sum;
            }
        }

        private static double sum(double[] selected) {
            double sum = 0;
            for (double score : selected) {
                sum += score;
            }
            return sum;
        }
    }
}
