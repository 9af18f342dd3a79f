package org.moe4j.bench.study;

import org.moe4j.core.backend.Matrix;

/** Sums over all entries of matrices, in double. */
final class Norms {
    private Norms() {}

    /** {@code Σ a²}. */
    static double squares(Matrix a) {
        double[] values = a.toArray();
        return dot(values, values);
    }

    /** {@code √(mean a²)}. */
    static double rms(Matrix a) {
        return Math.sqrt(squares(a) / ((double) a.rows() * a.columns()));
    }

    /** {@code ⟨a, b⟩ / (‖a‖·‖b‖)} of the two matrices read as one long vector each. */
    static double cosine(Matrix a, Matrix b) {
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
