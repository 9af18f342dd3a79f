package org.moe4j.router;

import org.moe4j.core.internal.Require;

/** Turns the E logits of a token into E scores, none of them negative; selection and weights are made from the scores. */
public sealed interface ScoreFunction {
    /**
     * Scores of one token among many.
     *
     * @param logits T·E finite logits, token after token, E being the length of {@code into}
     * @param token 0 ≤ token &lt; T
     * @param into E numbers, overwritten with the scores
     */
    void scores(double[] logits, int token, double[] into);

    /**
     * Adds the gradients of one token's logits, given those of its scores.
     *
     * @param logits T·E finite logits, as given forward
     * @param token 0 ≤ token &lt; T
     * @param scores E scores of the token
     * @param dScores E gradients of the scores
     * @param dLogits T·E numbers, added to where they belong to the token
     */
    void logitGradients(double[] logits, int token, double[] scores, double[] dScores, double[] dLogits);

    /**
     * Scores of one token.
     *
     * @param logits E finite logits
     * @return E scores
     */
    default double[] scores(double[] logits) {
        Require.atLeast("logits.length", logits.length, 1);
        double[] scores = new double[logits.length];
        scores(logits, 0, scores);
        return scores;
    }

    /**
     * Gradients of one token's logits.
     *
     * @param logits E finite logits
     * @param scores E scores, as {@link #scores(double[])} gave them
     * @param dScores E gradients of the scores
     * @return E gradients of the logits
     */
    default double[] logitGradients(double[] logits, double[] scores, double[] dScores) {
        Require.count("scores", scores.length, logits.length, "numbers (one per logit)");
        Require.count("dScores", dScores.length, logits.length, "numbers (one per logit)");
        double[] dLogits = new double[logits.length];
        logitGradients(logits, 0, scores, dScores, dLogits);
        return dLogits;
    }

    /**
     * {@code s_e = e^(l_e − m) / Σ_i e^(l_i − m)} with m the largest logit; of many small powers beside a large one the sum loses none.
     *
     * <p>Derivative: {@code dl = s ⊙ (ds − ⟨s, ds⟩)}.
     */
    record Softmax() implements ScoreFunction {
        @Override
        public void scores(double[] logits, int token, double[] into) {
            int from = TokenRow.begin("logits", logits, token, into.length);
            double max = logits[from];
            for (int e = 1; e < into.length; e++) {
                max = logits[from + e] > max ? logits[from + e] : max;
            }
            double sum = Exponential.all(logits, from, 1, max, into);
            for (int e = 0; e < into.length; e++) {
                into[e] /= sum;
            }
        }

        @Override
        public void logitGradients(double[] logits, int token, double[] scores, double[] dScores, double[] dLogits) {
            int from = TokenRow.begin(logits, token, scores, dScores, dLogits);
            double mean = 0;
            for (int e = 0; e < scores.length; e++) {
                mean += scores[e] * dScores[e];
            }
            for (int e = 0; e < scores.length; e++) {
                dLogits[from + e] += scores[e] * (dScores[e] - mean);
            }
        }
    }

    /**
     * {@code s_e = 1/(1 + e^(−l_e)) + epsilon}: each expert for itself. The sigmoid is right to a few units in the last place for
     * every logit, down to where it becomes 0 near −745.
     *
     * <p>Derivative: {@code dl = ds · σ(l) · σ(−l)}; the epsilon has none.
     *
     * <p>Who: without epsilon DeepSeek-V3 ({@code deepseek-ai/DeepSeek-V3}, {@code inference/model.py}, {@code Gate}) and
     * Megatron-Core ({@code moe_utils.py}); with 1e-7 OLMo-core ({@code nn/moe/router.py}).
     *
     * @param epsilon added to every score before selection and weights; 0 for none
     */
    record Sigmoid(double epsilon) implements ScoreFunction {
        /**
         * Checks the epsilon.
         *
         * @param epsilon added to every score; 0 for none
         * @throws IllegalArgumentException for {@code epsilon} other than a finite number of at least 0
         */
        public Sigmoid {
            if (!(epsilon >= 0) || Double.isInfinite(epsilon)) {
                throw Require.expected("epsilon", "a finite number of at least 0", epsilon);
            }
        }

        /** Without an epsilon. */
        public Sigmoid() {
            this(0);
        }

        @Override
        public void scores(double[] logits, int token, double[] into) {
            int from = TokenRow.begin("logits", logits, token, into.length);
            double sum = Exponential.all(logits, from, -1, 0, into);
            for (int e = 0; e < into.length; e++) {
                into[e] = 1 / (1 + into[e]) + epsilon;
            }
            for (int e = 0; !(sum <= 1e300) && e < into.length; e++) { // NaN where a power is infinite
                into[e] = of(logits[from + e]);
            }
        }

        /** The score of one logit. */
        double of(double logit) {
            if (logit < -691) { // e^691 > 1e300; the quotient loses its bits as e^−l overflows
                return StrictMath.exp(logit) + epsilon;
            }
            return 1 / (1 + Exponential.of(-logit)) + epsilon;
        }

        @Override
        public void logitGradients(double[] logits, int token, double[] scores, double[] dScores, double[] dLogits) {
            int from = TokenRow.begin(logits, token, scores, dScores, dLogits);
            for (int e = 0; e < scores.length; e++) {
                if (dScores[e] != 0) { // nothing comes from experts that were not selected
                    double power = Exponential.of(-Math.abs(logits[from + e]));
                    dLogits[from + e] += dScores[e] * (power / ((1 + power) * (1 + power)));
                }
            }
        }
    }

    /**
     * {@code s_e = √ln(1 + e^(l_e))}: each expert for itself, without an upper bound. Below −37 it is {@code e^(l/2)}, which
     * is the same in double and does not become 0 before −1490.
     *
     * <p>Derivative: {@code dl = ds · σ(l) / (2·s)}, and below −37 {@code dl = ds · s/2}: no division by a score that vanishes.
     *
     * @see <a href="https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/transformer/moe/moe_utils.py">Megatron-Core,
     *     score function {@code sqrtsoftplus}</a>
     */
    record SqrtSoftplus() implements ScoreFunction {
        private static final double TAIL = -37; // e^−37 < 2^−53: ln(1 + e^l) is e^l

        @Override
        public void scores(double[] logits, int token, double[] into) {
            int from = TokenRow.begin("logits", logits, token, into.length);
            for (int e = 0; e < into.length; e++) {
                double logit = logits[from + e];
                into[e] = logit < TAIL
                        ? Exponential.of(logit / 2)
                        : Math.sqrt(Math.max(logit, 0) + StrictMath.log1p(Exponential.of(-Math.abs(logit))));
            }
        }

        @Override
        public void logitGradients(double[] logits, int token, double[] scores, double[] dScores, double[] dLogits) {
            int from = TokenRow.begin(logits, token, scores, dScores, dLogits);
            for (int e = 0; e < scores.length; e++) {
                if (dScores[e] != 0) {
                    double logit = logits[from + e];
                    double slope = logit < TAIL ? scores[e] / 2 : 1 / (1 + Exponential.of(-logit)) / (2 * scores[e]);
                    dLogits[from + e] += dScores[e] * slope;
                }
            }
        }
    }
}
