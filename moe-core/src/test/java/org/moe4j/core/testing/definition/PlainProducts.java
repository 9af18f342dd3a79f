package org.moe4j.core.testing.definition;

import org.moe4j.core.testing.Tolerance;

/**
 * Grouped products as plain loops, each element with its gauge: the sum of the absolute values of its terms. What each
 * addition and multiplication rounds away is summed beside, so that the result is good enough to judge doubles by.
 */
public final class PlainProducts {
    /** The elements of the product. */
    public final double[] values;

    /** Of each element, the sum of the absolute values of its terms. */
    public final double[] gauges;

    private final double[] roundedAway;

    private PlainProducts(int elements) {
        values = new double[elements];
        roundedAway = new double[elements];
        gauges = new double[elements];
    }

    private void add(int at, double a, double b) {
        double term = a * b;
        double sum = values[at] + term;
        double had = sum - term;
        roundedAway[at] += Math.fma(a, b, -term) + (values[at] - had) + (term - (sum - had));
        values[at] = sum;
        gauges[at] += Math.abs(term);
    }

    private PlainProducts corrected() {
        for (int i = 0; i < values.length; i++) {
            values[i] += roundedAway[i];
        }
        return this;
    }

    /** Rows {@code from … to − 1} of a (·×p) times b (p×q), or bᵀ with b (q×p). */
    public static PlainProducts product(double[] a, int from, int to, int p, double[] b, int q, boolean transB) {
        PlainProducts y = new PlainProducts((to - from) * q);
        for (int i = from; i < to; i++) {
            for (int j = 0; j < q; j++) {
                for (int k = 0; k < p; k++) {
                    y.add((i - from) * q + j, a[i * p + k], transB ? b[j * p + k] : b[k * q + j]);
                }
            }
        }
        return y.corrected();
    }

    /** {@code aᵀ·b} over rows {@code from … to − 1} of a (·×p) and b (·×q). */
    public static PlainProducts transA(double[] a, double[] b, int from, int to, int p, int q) {
        PlainProducts y = new PlainProducts(p * q);
        for (int k = from; k < to; k++) {
            for (int i = 0; i < p; i++) {
                for (int j = 0; j < q; j++) {
                    y.add(i * q + j, a[k * p + i], b[k * q + j]);
                }
            }
        }
        return y.corrected();
    }

    /** What {@link Tolerance#gemm} allows for sums of k products. */
    public double[] tolerances(int k, double u) {
        double[] tolerances = new double[gauges.length];
        for (int i = 0; i < tolerances.length; i++) {
            tolerances[i] = Tolerance.gemm(k, u, gauges[i]);
        }
        return tolerances;
    }
}
