package org.moe4j.core.testing;

import java.util.function.ToDoubleFunction;

/**
 * Central differences in double, and the criterion of the design: {@code |a − n| ≤ 1e-6 · max(|a|, |n|, ‖g‖∞)}.
 *
 * <p>With a step of 1e-5 the cut-off error is about 1e-11 and the rounding error about 1e-11 for functions of unit size.
 */
public final class FiniteDifferences {
    /** The relative tolerance of every gradient check. */
    public static final double TOLERANCE = 1e-6;

    private static final double STEP = 1e-5;

    private FiniteDifferences() {}

    /** Gradient of f at x by central differences; x is left as it was. */
    public static double[] gradient(ToDoubleFunction<double[]> f, double[] x) {
        double[] at = x.clone();
        double[] gradient = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            double h = STEP * Math.max(1, Math.abs(x[i]));
            at[i] = x[i] + h;
            double above = f.applyAsDouble(at);
            at[i] = x[i] - h;
            double below = f.applyAsDouble(at);
            at[i] = x[i];
            gradient[i] = (above - below) / (2 * h);
        }
        return gradient;
    }

    /** Largest absolute value of any of the arrays: {@code ‖g‖∞} of a whole gradient. */
    public static double norm(double[]... gradients) {
        double norm = 0;
        for (double[] gradient : gradients) {
            norm = Math.max(norm, Tolerance.maxNorm(gradient));
        }
        return norm;
    }

    /**
     * Largest violation of the criterion as a multiple of what is allowed: at most 1 is a pass.
     *
     * @param norm {@code ‖g‖∞}, over all gradients of the same loss
     */
    public static double worst(double[] analytic, double[] numeric, double norm) {
        if (analytic.length != numeric.length) {
            return Double.POSITIVE_INFINITY;
        }
        double worst = 0;
        for (int i = 0; i < analytic.length; i++) {
            double error = Math.abs(analytic[i] - numeric[i]);
            double allowed = TOLERANCE * Math.max(norm, Math.max(Math.abs(analytic[i]), Math.abs(numeric[i])));
            double ratio = error == 0 ? 0 : error / allowed;
            worst = ratio >= 0 && allowed < Double.POSITIVE_INFINITY
                    ? Math.max(worst, ratio)
                    : Double.POSITIVE_INFINITY;
        }
        return worst;
    }
}
