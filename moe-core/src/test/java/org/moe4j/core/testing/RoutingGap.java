package org.moe4j.core.testing;

import java.util.Arrays;

/**
 * Distance between the last kept and the first refused choice score: inputs with a gap below 1e-3 are refused by tests,
 * so that a rounding can never flip a selection inside one.
 */
public final class RoutingGap {
    /** The smallest gap that tests accept. */
    public static final double ENOUGH = 1e-3;

    private RoutingGap() {}

    /** Smallest gap over tokens; infinite when every expert is chosen or there is no token. */
    public static double of(double[] scores, int experts, int topK) {
        double gap = Double.POSITIVE_INFINITY;
        for (int start = 0; topK < experts && start < scores.length; start += experts) {
            double[] sorted = Arrays.copyOfRange(scores, start, start + experts);
            Arrays.sort(sorted);
            gap = Math.min(gap, sorted[experts - topK] - sorted[experts - topK - 1]);
        }
        return gap;
    }
}
