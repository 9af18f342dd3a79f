package org.moe4j.router;

import org.moe4j.core.internal.Require;

/** Turns the E logits of a token into E scores; selection and weights are made from the scores. */
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
     * {@code s_e = e^(l_e − m) / Σ_i e^(l_i − m)} with m the largest logit; the sum runs in the order of the experts.
     *
     * <p>Derivative: {@code dl = s ⊙ (ds − ⟨s, ds⟩)}.
     */
    record Softmax() implements ScoreFunction {
        @Override
        public void scores(double[] logits, int token, double[] into) {
            int from = token * into.length;
            double max = Double.NEGATIVE_INFINITY;
            for (int e = 0; e < into.length; e++) {
                max = Math.max(max, logits[from + e]);
            }
            double sum = 0;
            for (int e = 0; e < into.length; e++) {
                into[e] = StrictMath.exp(logits[from + e] - max); // the same choice of experts on every JVM
                sum += into[e];
            }
            for (int e = 0; e < into.length; e++) {
                into[e] /= sum;
            }
        }

        @Override
        public void logitGradients(double[] logits, int token, double[] scores, double[] dScores, double[] dLogits) {
            int from = token * scores.length;
            double mean = 0;
            for (int e = 0; e < scores.length; e++) {
                mean += scores[e] * dScores[e];
            }
            for (int e = 0; e < scores.length; e++) {
                dLogits[from + e] += scores[e] * (dScores[e] - mean);
            }
        }
    }
}
