package org.moe4j.router.analysis.synthetic;

import java.util.Arrays;
import java.util.function.DoubleUnaryOperator;
import org.moe4j.core.internal.NormalQuantile;

/** Log-normal popularities of which none exceeds 1: {@code min(1, c · exp(σ z_e))}. */
final class PopularityProfile {
    /** A σ at which even neighbours in the middle of thousands of experts are far apart. */
    static final double STEEPEST = 1 << 18;

    private static final double LARGEST_EXPONENT = 600; // the sum of so many such numbers is finite
    private static final int HALVINGS = 80; // from the steepest to the last bit of 1

    private final double[] z;
    private final double[] descending;

    private PopularityProfile(double[] z) {
        this.z = z;
        double[] ascending = z.clone();
        Arrays.sort(ascending);
        descending = new double[z.length];
        for (int i = 0; i < z.length; i++) {
            descending[i] = ascending[z.length - 1 - i];
        }
    }

    /** Quantiles from the largest down. */
    static PopularityProfile plain(int experts) {
        return ofBlocks(0, experts);
    }

    /** The quantiles of each block of experts, as if there were that block alone. */
    static PopularityProfile ofBlocks(int... starts) {
        double[] z = new double[starts[starts.length - 1]];
        for (int block = 0; block + 1 < starts.length; block++) {
            int size = starts[block + 1] - starts[block];
            for (int i = 0; i < size; i++) {
                z[starts[block] + i] = -NormalQuantile.of((i + 0.5) / size);
            }
        }
        return new PopularityProfile(z);
    }

    double[] ofVariation(int topK, double variation) {
        return of(topK, solve(0, STEEPEST, variation, sigma -> variation(of(topK, sigma))));
    }

    /** The probabilities of one σ, whose sum is K. */
    double[] of(int topK, double sigma) {
        double reference = descending[topK - 1]; // at least K experts are no smaller, so that no sum vanishes
        double[] rests = new double[z.length + 1]; // sums of the weights from one on
        for (int i = z.length - 1; i >= 0; i--) {
            rests[i] = rests[i + 1] + weight(sigma, descending[i] - reference);
        }
        int full = 0; // experts whose probability is 1
        while (full < topK && (topK - full) * weight(sigma, descending[full] - reference) > rests[full]) {
            full++;
        }
        double factor = full == topK ? 0 : (topK - full) / rests[full];
        double smallestFull = full == 0 ? Double.POSITIVE_INFINITY : descending[full - 1];
        double[] inclusion = new double[z.length];
        for (int e = 0; e < z.length; e++) {
            inclusion[e] = z[e] >= smallestFull ? 1 : Math.min(1, factor * weight(sigma, z[e] - reference));
        }
        return inclusion;
    }

    private static double weight(double sigma, double exponent) {
        return Math.exp(Math.min(LARGEST_EXPONENT, sigma * exponent));
    }

    /** Standard deviation (population) over mean. */
    static double variation(double[] values) {
        double mean = Arrays.stream(values).sum() / values.length;
        double squares = 0;
        for (double value : values) {
            squares += (value - mean) * (value - mean);
        }
        return Math.sqrt(squares / values.length) / mean;
    }

    /** Where a function that grows reaches a value; the upper end when it does not. */
    static double solve(double low, double high, double value, DoubleUnaryOperator function) {
        double below = low;
        double above = high;
        for (int i = 0; i < HALVINGS; i++) {
            double middle = (below + above) / 2;
            if (function.applyAsDouble(middle) < value) {
                below = middle;
            } else {
                above = middle;
            }
        }
        return above;
    }
}
