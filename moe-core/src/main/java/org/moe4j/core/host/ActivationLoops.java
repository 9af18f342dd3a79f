package org.moe4j.core.host;

import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.ClampedSwiGlu;
import org.moe4j.core.backend.Activation.GeluExact;
import org.moe4j.core.backend.Activation.GeluTanh;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.ReluSquared;
import org.moe4j.core.internal.NormalCdf;

/**
 * The formulas of {@link Activation} as loops on small arrays of doubles, each small enough for the compiler to vectorise
 * where the function allows it. σ is exact or approximate, as the precision of the matrices needs it.
 */
public final class ActivationLoops {
    /** Elements worked on at a time: five arrays of them fit the first cache. */
    public static final int TILE = 512;

    private static final double TWICE_ROOT = 2 * Math.sqrt(2 / Math.PI);
    private static final double CUBIC = 0.044715;
    private static final double SATURATED = 40; // σ(2z) is exactly 0 or 1 beyond, and u³ must not overflow
    private static final double FAR = 0x1p500; // σ is exactly 0 or 1 there; infinity times an exact 0 would be NaN

    /** The logistic function. */
    public interface Logistic {
        /**
         * {@code y = 1 / (1 + e^−x)}.
         *
         * @param x arguments
         * @param y gets the values
         * @param count how many
         */
        void run(double[] x, double[] y, int count);
    }

    private final Logistic logistic;
    private final double[] x = new double[TILE];
    private final double[] s = new double[TILE];

    /**
     * Loops with arrays of their own, for one thread.
     *
     * @param logistic as exact as the caller needs it
     */
    public ActivationLoops(Logistic logistic) {
        this.logistic = logistic;
    }

    /**
     * {@code a(g, u)}; the result takes the place of u.
     *
     * @param activation a
     * @param g overwritten
     * @param u overwritten
     * @param count at most {@link #TILE}
     */
    public void forward(Activation.Gated activation, double[] g, double[] u, int count) {
        if (activation instanceof ClampedSwiGlu clamped) {
            cut(clamped, g, u, count);
            for (int i = 0; i < count; i++) {
                u[i] = above(g[i]) * s[i] * (u[i] + clamped.offset());
            }
            return;
        }
        logistic.run(g, s, count);
        for (int i = 0; i < count; i++) {
            u[i] = above(g[i]) * s[i] * u[i];
        }
    }

    /** Cuts g and u, and leaves {@code σ(alpha · ĝ)} in s. */
    private void cut(ClampedSwiGlu clamped, double[] g, double[] u, int count) {
        double limit = clamped.limit();
        for (int i = 0; i < count; i++) {
            g[i] = Math.min(g[i], limit);
            u[i] = Math.max(-limit, Math.min(limit, u[i]));
            x[i] = clamped.alpha() * g[i];
        }
        logistic.run(x, s, count);
    }

    /**
     * {@code d ⊙ ∂a/∂g} and {@code d ⊙ ∂a/∂u}, which take the places of g and u.
     *
     * @param activation a
     * @param g overwritten
     * @param u overwritten
     * @param d gradient of the result
     * @param count at most {@link #TILE}
     */
    public void backward(Activation.Gated activation, double[] g, double[] u, double[] d, int count) {
        if (activation instanceof ClampedSwiGlu clamped) {
            backward(clamped, g, u, d, count);
            return;
        }
        logistic.run(g, s, count);
        for (int i = 0; i < count; i++) {
            double gate = above(g[i]);
            g[i] = d[i] * u[i] * s[i] * (1 + below(gate) * (1 - s[i]));
            u[i] = d[i] * gate * s[i];
        }
    }

    private void backward(ClampedSwiGlu clamped, double[] g, double[] u, double[] d, int count) {
        double limit = clamped.limit();
        for (int i = 0; i < count; i++) {
            x[i] = clamped.alpha() * Math.min(g[i], limit);
        }
        logistic.run(x, s, count);
        for (int i = 0; i < count; i++) {
            double up = Math.max(-limit, Math.min(limit, u[i])) + clamped.offset();
            double dUp = d[i] * above(Math.min(g[i], limit)) * s[i];
            double dGate = d[i] * up * s[i] * (1 + below(above(x[i])) * (1 - s[i]));
            g[i] = g[i] > limit ? d[i] * 0 : dGate; // NaN stays NaN
            u[i] = Math.abs(u[i]) > limit ? d[i] * 0 : dUp;
        }
    }

    /**
     * {@code a(u)}; the result takes the place of u.
     *
     * @param activation a
     * @param u overwritten
     * @param count at most {@link #TILE}
     */
    public void forward(Activation.Plain activation, double[] u, int count) {
        if (activation instanceof Relu || activation instanceof ReluSquared) {
            boolean squared = activation instanceof ReluSquared;
            for (int i = 0; i < count; i++) {
                double positive = Math.max(u[i], 0);
                u[i] = squared ? positive * positive : positive;
            }
        } else if (activation instanceof GeluExact) {
            for (int i = 0; i < count; i++) {
                u[i] = above(u[i]) * NormalCdf.cdf(u[i]);
            }
        } else {
            logistic(activation, u, count);
            for (int i = 0; i < count; i++) {
                u[i] = above(u[i]) * s[i];
            }
        }
    }

    /** Leaves σ(u), or for the tanh form σ(2z), in s. */
    private void logistic(Activation.Plain activation, double[] u, int count) {
        if (!(activation instanceof GeluTanh)) {
            logistic.run(u, s, count);
            return;
        }
        for (int i = 0; i < count; i++) {
            double near = near(u[i]);
            x[i] = TWICE_ROOT * (near + CUBIC * near * near * near);
        }
        logistic.run(x, s, count);
    }

    /** Not below −FAR, where σ makes every number a zero. */
    private static double above(double x) {
        return Math.max(-FAR, x);
    }

    /** Not above FAR, where 1 − σ makes every number a zero. */
    private static double below(double x) {
        return Math.min(FAR, x);
    }

    private static double near(double u) {
        return Math.max(-SATURATED, Math.min(SATURATED, u));
    }

    /**
     * {@code d ⊙ ∂a/∂u}, which takes the place of u.
     *
     * @param activation a
     * @param u overwritten
     * @param d gradient of the result
     * @param count at most {@link #TILE}
     */
    public void backward(Activation.Plain activation, double[] u, double[] d, int count) {
        if (activation instanceof Relu) {
            for (int i = 0; i < count; i++) {
                u[i] = d[i] * (u[i] <= 0 ? 0 : 1);
            }
        } else if (activation instanceof ReluSquared) {
            for (int i = 0; i < count; i++) {
                u[i] = d[i] * (2 * Math.max(u[i], 0));
            }
        } else if (activation instanceof GeluExact) {
            for (int i = 0; i < count; i++) {
                u[i] = d[i] * (NormalCdf.cdf(u[i]) + below(above(u[i])) * NormalCdf.density(u[i]));
            }
        } else if (activation instanceof GeluTanh) {
            logistic(activation, u, count);
            for (int i = 0; i < count; i++) {
                double near = near(u[i]);
                double slope = TWICE_ROOT * (1 + 3 * CUBIC * near * near);
                u[i] = d[i] * (s[i] + near * s[i] * (1 - s[i]) * slope);
            }
        } else {
            logistic(activation, u, count);
            for (int i = 0; i < count; i++) {
                u[i] = d[i] * (s[i] * (1 + below(above(u[i])) * (1 - s[i])));
            }
        }
    }
}
