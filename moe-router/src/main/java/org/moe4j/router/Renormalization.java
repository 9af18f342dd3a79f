package org.moe4j.router;

import org.moe4j.core.internal.Require;

/** Turns the scores of the K selected experts (or their logits, see {@link #ofLogits}) into weights, before the router's scale. */
public sealed interface Renormalization {
    /** Where an epsilon enters a sum that is divided by. */
    enum EpsilonPlace {
        /**
         * {@code w_j = s_j / (Σ_r s_r + ε)}: Megatron-Core and Transformers' {@code deepseek_v3} with 1e-20. The weights add up to
         * less than 1; scores that are all 0 get weights 0.
         */
        IN_SUM,
        /** {@code w_j = (s_j + ε) / Σ_r (s_r + ε)}: the weights add up to 1; scores that are all 0 get equal weights. */
        PER_SCORE,
        /** {@code w_j = s_j / max(Σ_r s_r, ε)}: the weights add up to 1 unless the sum is below the floor. */
        FLOOR
    }

    /**
     * Whether the weights of a token add up to 1, whatever its scores; only this makes a router fit for the merges that
     * presume unit sums.
     *
     * @return false when the routed mass depends on the scores, however little
     */
    boolean unitSum();

    /**
     * Whether weights are made from the selected logits. The experts are then ranked by their logits too, and the
     * score function has no part in the routing.
     *
     * @return false for those that take scores
     */
    default boolean ofLogits() {
        return false;
    }

    /**
     * Weights of one token among many.
     *
     * @param selected scores, or logits, of its experts, at least one
     * @param token named when its scores have no sum to divide by
     * @param into numbers of many tokens; as many as selected are overwritten
     * @param from where those of the token begin
     * @throws ArithmeticException when the scores have no sum to divide by; the message names the token
     */
    void weights(double[] selected, int token, double[] into, int from);

    /**
     * Gradients of what the weights were made from, given those of the weights.
     *
     * @param selected scores, or logits, of the K experts, as given forward
     * @param dWeights K gradients of the weights
     * @param into K numbers, overwritten
     */
    void scoreGradients(double[] selected, double[] dWeights, double[] into);

    /**
     * Weights of one token.
     *
     * @param selected scores, or logits, of its K experts
     * @return K weights
     * @throws ArithmeticException when the scores have no sum to divide by
     */
    default double[] weights(double[] selected) {
        Require.atLeast("selected.length", selected.length, 1);
        double[] weights = new double[selected.length];
        weights(selected, 0, weights, 0);
        return weights;
    }

    /**
     * Gradients of the selected scores (or logits) of one token.
     *
     * @param selected scores, or logits, of its K experts
     * @param dWeights K gradients of the weights
     * @return K gradients
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
        public void weights(double[] selected, int token, double[] into, int from) {
            Quotients.requireRoom(selected, into, from);
            System.arraycopy(selected, 0, into, from, selected.length);
        }

        @Override
        public void scoreGradients(double[] selected, double[] dWeights, double[] into) {
            Quotients.requireSame(selected, dWeights, into);
            System.arraycopy(dWeights, 0, into, 0, into.length);
        }
    }

    /**
     * {@code w = softmax(l_1 … l_K)} of the selected logits: Megatron-Core's default, {@code mistralai/mistral-inference}, gpt-oss.
     * The same function as {@link Sum} after {@link ScoreFunction.Softmax}; the last bits differ, and it stays exact where
     * softmax over all experts underflows.
     *
     * <p>Derivative: {@code dl_j = w_j · (dw_j − Σ_r w_r·dw_r)}, and nothing for the other logits.
     */
    record SoftmaxOfSelected() implements Renormalization {
        @Override
        public boolean unitSum() {
            return true;
        }

        @Override
        public boolean ofLogits() {
            return true;
        }

        @Override
        public void weights(double[] selected, int token, double[] into, int from) {
            Quotients.requireRoom(selected, into, from);
            Quotients.softmax(selected, into, from);
        }

        @Override
        public void scoreGradients(double[] selected, double[] dWeights, double[] into) {
            Quotients.requireSame(selected, dWeights, into);
            Quotients.softmaxGradients(selected, dWeights, into);
        }
    }

    /**
     * {@code w_j = s_j / Σ_r s_r} over the K selected, with an epsilon where {@link EpsilonPlace} says. Without one a sum
     * of 0, or below 1e-290, is an {@link ArithmeticException}. With K = 1 and no epsilon the weight is always 1 and its gradient 0, so that the
     * router learns from losses alone; Megatron-Core does not divide then when scores are sigmoids, which is {@link None}.
     *
     * <p>Derivative, with D the divisor: {@code ds_j = (dw_j − Σ_r dw_r·w_r) / D}; below a floor {@code ds_j = dw_j / ε}.
     *
     * @param epsilon at least 0; 0 for none
     * @param place where it enters; of no meaning without epsilon, and {@code IN_SUM} then
     */
    record Sum(double epsilon, EpsilonPlace place) implements Renormalization {
        /**
         * Checks the epsilon.
         *
         * @param epsilon at least 0; 0 for none
         * @param place where it enters
         * @throws IllegalArgumentException for {@code epsilon} other than a finite number of at least 0
         */
        public Sum {
            if (!(epsilon >= 0) || Double.isInfinite(epsilon)) {
                throw Require.expected("epsilon", "a finite number of at least 0", epsilon);
            }
            place = epsilon == 0 ? EpsilonPlace.IN_SUM : place;
        }

        /** Without an epsilon: a sum of 0, or below 1e-290, is an {@link ArithmeticException}. */
        public Sum() {
            this(0, EpsilonPlace.IN_SUM);
        }

        /**
         * {@inheritDoc}
         *
         * <p>True without an epsilon, and with one that is added to every score.
         */
        @Override
        public boolean unitSum() {
            return epsilon == 0 || place == EpsilonPlace.PER_SCORE;
        }

        @Override
        public void weights(double[] selected, int token, double[] into, int from) {
            Quotients.requireRoom(selected, into, from);
            double added = place == EpsilonPlace.PER_SCORE ? epsilon : 0;
            double divisor = Quotients.divisor(divisor(Quotients.sum(selected, added)), token);
            for (int j = 0; j < selected.length; j++) {
                into[from + j] = (selected[j] + added) / divisor;
            }
        }

        private double divisor(double sum) {
            return switch (place) {
                case IN_SUM -> sum + epsilon;
                case PER_SCORE -> sum;
                case FLOOR -> Math.max(sum, epsilon);
            };
        }

        @Override
        public void scoreGradients(double[] selected, double[] dWeights, double[] into) {
            Quotients.requireSame(selected, dWeights, into);
            double added = place == EpsilonPlace.PER_SCORE ? epsilon : 0;
            double sum = Quotients.sum(selected, added);
            double divisor = divisor(sum);
            double mean = 0;
            for (int j = 0; j < selected.length; j++) {
                mean += dWeights[j] * ((selected[j] + added) / divisor);
            }
            mean = place == EpsilonPlace.FLOOR && sum < epsilon ? 0 : mean;
            for (int j = 0; j < selected.length; j++) {
                into[j] = (dWeights[j] - mean) / divisor;
            }
        }
    }

    /**
     * {@code w_j = s_j / (Σ_r s_r^p)^(1/p)} over the K selected, without an epsilon: scores that are all 0 are an
     * {@link ArithmeticException}. MegaBlocks ({@code megablocks/layers/router.py}, {@code moe_normalize_expert_weights}) and OLMo-core.
     *
     * <p>Derivative, with n the norm: {@code ds_j = (dw_j − w_j^(p−1) · Σ_r dw_r·w_r) / n}. For p below 1 a score of 0 has no
     * derivative; the second term is taken as 0 there, its limit in the logits.
     *
     * @param p a finite number above 0; 1 is {@link Sum} without an epsilon
     */
    record Norm(double p) implements Renormalization {
        /**
         * Checks the exponent.
         *
         * @param p a finite number above 0
         * @throws IllegalArgumentException for {@code p} other than a finite number above 0
         */
        public Norm {
            if (!(p > 0) || Double.isInfinite(p)) {
                throw Require.expected("p", "a finite number above 0", p);
            }
        }

        /**
         * {@inheritDoc}
         *
         * <p>True for p = 1 only.
         */
        @Override
        public boolean unitSum() {
            return p == 1;
        }

        @Override
        public void weights(double[] selected, int token, double[] into, int from) {
            Quotients.requireRoom(selected, into, from);
            double norm = Quotients.divisor(Quotients.norm(selected, p), token);
            for (int j = 0; j < selected.length; j++) {
                into[from + j] = selected[j] / norm;
            }
        }

        @Override
        public void scoreGradients(double[] selected, double[] dWeights, double[] into) {
            Quotients.requireSame(selected, dWeights, into);
            Quotients.normGradients(selected, p, dWeights, into);
        }
    }
}
