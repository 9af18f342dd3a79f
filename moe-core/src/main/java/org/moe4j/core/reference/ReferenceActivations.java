package org.moe4j.core.reference;

import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.ClampedSwiGlu;
import org.moe4j.core.backend.Activation.GeluExact;
import org.moe4j.core.backend.Activation.GeluTanh;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.ReluSquared;
import org.moe4j.core.internal.NormalCdf;

/** The formulas of {@link Activation}, one element at a time. */
final class ReferenceActivations {
    private static final double ROOT = StrictMath.sqrt(2 / Math.PI);
    private static final double CUBIC = 0.044715;
    private static final double SATURATED = 40; // σ(2z) is exactly 0 or 1 beyond, and u³ must not overflow
    private static final double FAR = 0x1p500; // σ is exactly 0 or 1 there; infinity times an exact 0 would be NaN

    private ReferenceActivations() {}

    static double value(Activation.Gated activation, double g, double u) {
        if (activation instanceof ClampedSwiGlu clamped) {
            double cut = Math.min(g, clamped.limit());
            return above(cut) * sigmoid(clamped.alpha() * cut) * (clip(u, clamped.limit()) + clamped.offset());
        }
        return above(g) * sigmoid(g) * u;
    }

    /** {@code dh/dg}. */
    static double gateSlope(Activation.Gated activation, double g, double u) {
        if (activation instanceof ClampedSwiGlu clamped) {
            if (g > clamped.limit()) {
                return 0;
            }
            double s = sigmoid(clamped.alpha() * g);
            double within = clip(clamped.alpha() * g, FAR);
            return (clip(u, clamped.limit()) + clamped.offset()) * s * (1 + within * (1 - s));
        }
        double s = sigmoid(g);
        return u * s * (1 + clip(g, FAR) * (1 - s));
    }

    /** {@code dh/du}. */
    static double upSlope(Activation.Gated activation, double g, double u) {
        if (activation instanceof ClampedSwiGlu clamped) {
            double cut = Math.min(g, clamped.limit());
            return Math.abs(u) > clamped.limit() ? 0 : above(cut) * sigmoid(clamped.alpha() * cut);
        }
        return above(g) * sigmoid(g);
    }

    static double value(Activation.Plain activation, double u) {
        if (activation instanceof Relu) {
            return Math.max(u, 0);
        }
        if (activation instanceof ReluSquared) {
            double positive = Math.max(u, 0);
            return positive * positive;
        }
        if (activation instanceof GeluExact) {
            return above(u) * NormalCdf.cdf(u);
        }
        return above(u) * sigmoid(activation instanceof GeluTanh ? tanhArgument(u) : u);
    }

    static double slope(Activation.Plain activation, double u) {
        if (activation instanceof Relu) {
            return u <= 0 ? 0 : 1;
        }
        if (activation instanceof ReluSquared) {
            return 2 * Math.max(u, 0);
        }
        if (activation instanceof GeluExact) {
            return NormalCdf.cdf(u) + clip(u, FAR) * NormalCdf.density(u);
        }
        if (activation instanceof GeluTanh) {
            double s = sigmoid(tanhArgument(u));
            double near = clip(u, SATURATED);
            return s + near * s * (1 - s) * 2 * ROOT * (1 + 3 * CUBIC * near * near);
        }
        double s = sigmoid(u);
        return s * (1 + clip(u, FAR) * (1 - s));
    }

    /** {@code 2z}. */
    private static double tanhArgument(double u) {
        double near = clip(u, SATURATED);
        return 2 * ROOT * (near + CUBIC * near * near * near);
    }

    /** Not below −FAR, where σ makes every number a zero. */
    private static double above(double x) {
        return Math.max(-FAR, x);
    }

    private static double clip(double u, double limit) {
        return Math.max(-limit, Math.min(limit, u));
    }

    private static double sigmoid(double x) {
        return 1 / (1 + StrictMath.exp(-x));
    }
}
