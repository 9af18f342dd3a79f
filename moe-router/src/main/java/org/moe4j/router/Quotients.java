package org.moe4j.router;

import java.util.Objects;
import org.moe4j.core.internal.Require;

/** What the renormalisations divide by, and the derivatives of the quotients. */
final class Quotients {
    private Quotients() {}

    /**
     * Below it scores have lost digits, and gradients overflow on their way through a quotient, although what they are multiplied
     * with next makes them small again.
     */
    private static final double SMALLEST = 1e-290;

    /** For weights of one token among many. */
    static void requireRoom(double[] selected, double[] into, int from) {
        Require.atLeast("selected.length", selected.length, 1);
        Objects.checkFromIndexSize(from, selected.length, into.length);
    }

    /** For gradients of as many scores as there are weights. */
    static void requireSame(double[] selected, double[] dWeights, double[] into) {
        Require.atLeast("selected.length", selected.length, 1);
        Require.count("dWeights", dWeights.length, selected.length, "numbers (one per selected score)");
        Require.count("into", into.length, selected.length, "numbers (one per selected score)");
    }

    /** A divisor that divides; without one the token is named. */
    static double divisor(double divisor, int token) {
        if (divisor < SMALLEST) {
            throw new ArithmeticException("router weights: expected selected scores with a sum of at least " + SMALLEST
                    + " but token " + token + " has " + divisor);
        }
        if (Double.isInfinite(divisor)) { // a norm with a small p, or scores near the largest number
            throw new ArithmeticException("router weights: expected selected scores with a finite norm but token "
                    + token + " has " + divisor);
        }
        return divisor;
    }

    /** {@code Σ_r (s_r + added)}, in the order of the ranks. */
    static double sum(double[] selected, double added) {
        double sum = 0;
        for (double score : selected) {
            sum += score + added;
        }
        return sum;
    }

    /** {@code (Σ_r s_r^p)^(1/p)} of scores that are not negative, relative to the largest, so that no power overflows. */
    static double norm(double[] selected, double p) {
        if (p == 1) {
            return sum(selected, 0);
        }
        double max = 0;
        for (double score : selected) {
            max = Math.max(max, score);
        }
        if (max == 0) {
            return 0;
        }
        double sum = 0;
        for (double score : selected) {
            sum += power(score / max, p);
        }
        return max * (p == 2 ? Math.sqrt(sum) : StrictMath.pow(sum, 1 / p));
    }

    static void normGradients(double[] selected, double p, double[] dWeights, double[] into) {
        double norm = norm(selected, p);
        double along = 0;
        for (int j = 0; j < selected.length; j++) {
            along += dWeights[j] * (selected[j] / norm);
        }
        for (int j = 0; j < selected.length; j++) {
            double weight = selected[j] / norm;
            double slope = weight == 0 && p < 1 ? 0 : power(weight, p - 1);
            into[j] = (dWeights[j] - slope * along) / norm;
        }
    }

    /** {@code x^p}; the whole exponents that occur are exact products. */
    private static double power(double x, double p) {
        if (p == 0) {
            return 1;
        }
        if (p == 1) {
            return x;
        }
        return p == 2 ? x * x : StrictMath.pow(x, p);
    }

    /** Softmax of the logits, from a position on. */
    static void softmax(double[] logits, double[] into, int from) {
        double max = logits[0];
        for (double logit : logits) {
            max = Math.max(max, logit);
        }
        for (int j = 0; j < logits.length; j++) {
            into[from + j] = Exponential.of(logits[j] - max);
        }
        double sum = Exponential.sum(into, from, logits.length);
        for (int j = 0; j < logits.length; j++) {
            into[from + j] /= sum;
        }
    }

    static void softmaxGradients(double[] logits, double[] dWeights, double[] into) {
        softmax(logits, into, 0);
        double mean = 0;
        for (int j = 0; j < logits.length; j++) {
            mean += into[j] * dWeights[j];
        }
        for (int j = 0; j < logits.length; j++) {
            into[j] *= dWeights[j] - mean;
        }
    }
}
