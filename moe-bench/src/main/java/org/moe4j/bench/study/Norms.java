package org.moe4j.bench.study;

import org.moe4j.core.backend.Matrix;

/** Sums over all entries of matrices, in double. */
public final class Norms {
    private Norms() {}

    /**
     * {@code Σ a²}.
     *
     * @param a any shape
     * @return at least 0
     */
    public static double squares(Matrix a) {
        double[] values = a.toArray();
        return dot(values, values);
    }

    /**
     * {@code √(mean a²)}.
     *
     * @param a any shape
     * @return at least 0
     */
    public static double rms(Matrix a) {
        return Math.sqrt(squares(a) / ((double) a.rows() * a.columns()));
    }

    /**
     * {@code ⟨a, b⟩ / (‖a‖·‖b‖)} of the two matrices read as one long vector each.
     *
     * @param a any shape
     * @param b of the same shape
     * @return in −1..1
     */
    public static double cosine(Matrix a, Matrix b) {
        double[] x = a.toArray();
        double[] y = b.toArray();
        return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }
}
