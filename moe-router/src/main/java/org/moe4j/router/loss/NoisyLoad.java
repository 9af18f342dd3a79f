package org.moe4j.router.loss;

import org.moe4j.core.internal.Require;

/** The probability that an expert is selected when its noise is drawn again, as a smooth function of logits and deviations. */
final class NoisyLoad {
    /** Lest a deviation that has become 0 divide 0; Tensor2Tensor adds 1e-20 to √2·d. From 1e-4 on it is nothing beside d. */
    private static final double LEAST = 1e-20 / Math.sqrt(2);

    private final int experts;
    private final int topK;
    private final boolean aboveLast;
    private final double[] noisy;
    private final double[] clean;
    private final double[] deviations;
    private final int[] best;

    NoisyLoad(RoutedTokens layer, boolean aboveLast) {
        this.aboveLast = aboveLast;
        experts = layer.routing().experts();
        topK = layer.topK();
        noisy = layer.logits();
        clean = layer.cleanLogits();
        deviations = layer.noiseDeviations().orElseThrow();
        for (int i = 0; i < deviations.length; i++) {
            deviations[i] += LEAST;
        }
        best = new int[aboveLast ? topK : topK + 1];
    }

    /** T·E numbers {@code Φ((c − θ)/d)}. */
    double[] probabilities() {
        double[] all = new double[noisy.length];
        for (int from = 0; from < noisy.length; from += experts) {
            Counts.best(noisy, from, experts, best, best.length);
            for (int e = 0; e < experts; e++) {
                all[from + e] = Normal.distribution(distance(from, e));
            }
        }
        return all;
    }

    private double distance(int from, int expert) {
        return (clean[from + expert] - noisy[from + threshold(from, expert)]) / deviations[from + expert];
    }

    /** Whose noisy logit an expert has to exceed. */
    private int threshold(int from, int expert) {
        if (aboveLast) {
            return best[topK - 1];
        }
        return noisy[from + expert] > noisy[from + best[topK]] ? best[topK] : best[topK - 1];
    }

    /** With {@code a = (c − θ)/d}: {@code dc = g·φ(a)/d}, {@code dθ = −g·φ(a)/d}, {@code dd = −g·φ(a)·a/d}. */
    void addGradients(double[] dProbabilities, LogitGradients into) {
        Require.count("into", into.deviations().length, noisy.length, "deviations (of a layer with noise)");
        for (int from = 0; from < noisy.length; from += experts) {
            Counts.best(noisy, from, experts, best, best.length);
            for (int e = 0; e < experts; e++) {
                double distance = distance(from, e);
                double slope = dProbabilities[from + e] * Normal.density(distance) / deviations[from + e];
                if (slope == 0) {
                    continue; // the distance may be infinite
                }
                into.cleanLogits()[from + e] += slope;
                into.logits()[from + threshold(from, e)] -= slope;
                into.deviations()[from + e] -= slope * distance;
            }
        }
    }
}
