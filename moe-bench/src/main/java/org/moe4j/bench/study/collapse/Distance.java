package org.moe4j.bench.study.collapse;

/** Largest entries. */
final class Distance {
    private Distance() {}

    /** {@code max |a|}; NaN when there is one. */
    static double norm(double[] a) {
        double max = 0;
        for (double value : a) {
            max = Math.max(max, Math.abs(value));
        }
        return max;
    }

    /** {@code max |a − b|} of as many numbers. */
    static double difference(double[] a, double[] b) {
        double[] difference = new double[a.length];
        for (int i = 0; i < a.length; i++) {
            difference[i] = a[i] - b[i];
        }
        return norm(difference);
    }
}
