package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;

/**
 * How far a result may be from its definition: a reason each, not a number. {@code u} is the unit roundoff of the stored
 * numbers.
 */
public final class Tolerance {
    private Tolerance() {}

    /** A sum of k products: {@code 2·√k·u·gauge} with {@code gauge = Σ|a||b|}; twice what was ever measured. */
    public static double gemm(int k, double u, double gauge) {
        return 2 * Math.sqrt(k) * u * gauge;
    }

    /** A whole layer, relative to the largest element: {@code 4·√max(D, F)·u}. */
    public static double layer(int hiddenSize, int intermediateSize, double u) {
        return 4 * Math.sqrt(Math.max(hiddenSize, intermediateSize)) * u;
    }

    /** A chain of so many roundings of intermediate results of the given size. */
    public static double roundings(int count, double u, double size) {
        return count * u * Math.abs(size);
    }

    /** Largest absolute value, of finite numbers: an infinite one would allow everything. */
    public static double maxNorm(double[] values) {
        double norm = 0;
        for (double value : values) {
            norm = Math.max(norm, Math.abs(value));
        }
        if (!Double.isFinite(norm)) {
            throw new AssertionError("expected finite numbers but was " + Arrays.toString(values));
        }
        return norm;
    }

    /** The largest difference of two elements; NaN where one is. */
    public static double distance(double[] actual, double[] expected) {
        assertThat(actual).hasSameSizeAs(expected);
        double worst = 0;
        for (int i = 0; i < actual.length; i++) {
            worst = Math.max(worst, Math.abs(actual[i] - expected[i])); // keeps a NaN
        }
        return worst;
    }

    /** One number within a tolerance. */
    public static void assertWithin(String what, double actual, double expected, double tolerance) {
        if (!(Math.abs(actual - expected) <= tolerance)) {
            throw new AssertionError(what + ": expected " + expected + " within " + tolerance + " but was " + actual);
        }
    }

    /** Each element within its own tolerance; the message names the first that is not. */
    public static void assertWithin(String what, double[] actual, double[] expected, double[] tolerance) {
        assertThat(actual).as(what).hasSameSizeAs(expected);
        for (int i = 0; i < actual.length; i++) {
            if (!(Math.abs(actual[i] - expected[i]) <= tolerance[i])) {
                throw new AssertionError(what + ": element " + i + " expected " + expected[i] + " within "
                        + tolerance[i] + " but was " + actual[i]);
            }
        }
    }

    /** All elements within one tolerance relative to the largest expected element. */
    public static void assertWithinMaxNorm(String what, double[] actual, double[] expected, double relative) {
        double[] tolerance = new double[expected.length];
        Arrays.fill(tolerance, relative * maxNorm(expected));
        assertWithin(what, actual, expected, tolerance);
    }
}
