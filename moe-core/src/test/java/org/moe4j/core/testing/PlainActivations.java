package org.moe4j.core.testing;

import java.util.List;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.ClampedSwiGlu;
import org.moe4j.core.backend.Activation.GeluExact;
import org.moe4j.core.backend.Activation.GeluTanh;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.ReluSquared;
import org.moe4j.core.backend.Activation.Silu;
import org.moe4j.core.backend.Activation.SwiGlu;

/**
 * The definition of every activation for tests, one element at a time, written as the papers write it. A plain activation
 * has no use for its gate. {@code sensitivity} says how many times a rounding inside the function may show in its result.
 */
public final class PlainActivations {
    /** One of each kind, and clamped ones with gpt-oss's numbers and with others. */
    public static final List<Activation> ALL = List.of(
            new SwiGlu(),
            new ClampedSwiGlu(1.702, 7, 1),
            new ClampedSwiGlu(1, 2.5, 0),
            new Silu(),
            new Relu(),
            new ReluSquared(),
            new GeluExact(),
            new GeluTanh());

    private static final double TANH_FACTOR = StrictMath.sqrt(2 / StrictMath.PI);

    private PlainActivations() {}

    /** {@code h}. */
    public static double value(Activation a, double gate, double up) {
        if (a instanceof SwiGlu) {
            return gate / (1 + StrictMath.exp(-gate)) * up;
        }
        if (a instanceof ClampedSwiGlu c) {
            double g = gate > c.limit() ? c.limit() : gate;
            return g / (1 + StrictMath.exp(-c.alpha() * g)) * (clipped(up, c.limit()) + c.offset());
        }
        if (a instanceof Silu) {
            return up / (1 + StrictMath.exp(-up));
        }
        if (a instanceof Relu) {
            return up <= 0 ? 0 : up;
        }
        if (a instanceof ReluSquared) {
            return up <= 0 ? 0 : up * up;
        }
        return a instanceof GeluExact ? up * normalCdf(up) : up * half(up);
    }

    /** {@code dh/dgate}; 0 without a gate. */
    public static double gateSlope(Activation a, double gate, double up) {
        if (a instanceof SwiGlu) {
            return up * siluSlope(gate);
        }
        if (a instanceof ClampedSwiGlu c && gate <= c.limit()) {
            double t = c.alpha() * gate;
            double s = 1 / (1 + StrictMath.exp(-t));
            return (clipped(up, c.limit()) + c.offset()) * (s + t * s * (1 - s));
        }
        return 0;
    }

    /** {@code dh/dup}. */
    public static double upSlope(Activation a, double gate, double up) {
        if (a instanceof SwiGlu) {
            return gate / (1 + StrictMath.exp(-gate));
        }
        if (a instanceof ClampedSwiGlu c) {
            double g = gate > c.limit() ? c.limit() : gate;
            return up < -c.limit() || up > c.limit() ? 0 : g / (1 + StrictMath.exp(-c.alpha() * g));
        }
        if (a instanceof Silu) {
            return siluSlope(up);
        }
        if (a instanceof Relu) {
            return up > 0 ? 1 : 0;
        }
        if (a instanceof ReluSquared) {
            return up > 0 ? 2 * up : 0;
        }
        if (a instanceof GeluExact) {
            return normalCdf(up) + up * normalDensity(up);
        }
        double y = half(up);
        return y + up * 2 * y * (1 - y) * tanhSlope(up);
    }

    /** Sum of the absolute values of what {@link #value} adds and multiplies, times {@link #sensitivity}. */
    public static double valueGauge(Activation a, double gate, double up) {
        double y = a instanceof ClampedSwiGlu c
                ? gate / (1 + StrictMath.exp(-c.alpha() * gate)) * (Math.abs(up) + Math.abs(c.offset()))
                : value(a, gate, up);
        return Math.abs(y) * (1 + sensitivity(a, gate, up));
    }

    /** The same for the slope by the gate. */
    public static double gateGauge(Activation a, double gate, double up) {
        double s = 1 / (1 + StrictMath.exp(-(a instanceof ClampedSwiGlu c ? c.alpha() * gate : gate)));
        double wide = Math.abs(up) + (a instanceof ClampedSwiGlu c ? Math.abs(c.offset()) : 0);
        return wide * s * (1 + 2 * Math.abs(gate)) * (1 + sensitivity(a, gate, up));
    }

    /** The same for the slope by up. */
    public static double upGauge(Activation a, double gate, double up) {
        double slope = Math.abs(upSlope(a, gate, up));
        if (a instanceof Silu) {
            slope = (1 + Math.abs(up)) / (1 + StrictMath.exp(-up));
        } else if (a instanceof GeluExact) {
            slope = normalCdf(up) + Math.abs(up) * normalDensity(up);
        } else if (a instanceof GeluTanh) {
            slope = half(up) * (1 + 2 * Math.abs(up) * tanhSlope(up));
        }
        return slope * (1 + sensitivity(a, gate, up));
    }

    /** How much larger the relative error of the result may be than that of what stands in an exponent. */
    private static double sensitivity(Activation a, double gate, double up) {
        if (a instanceof ClampedSwiGlu c) {
            return c.alpha() * Math.abs(gate);
        }
        return a instanceof GeluExact ? up * up : a instanceof GeluTanh ? 2 * Math.abs(tanhArgument(up)) : 0;
    }

    private static double clipped(double up, double limit) {
        return up > limit ? limit : up < -limit ? -limit : up;
    }

    private static double siluSlope(double x) {
        double s = 1 / (1 + StrictMath.exp(-x));
        return s + x * s * (1 - s);
    }

    private static double tanhArgument(double x) {
        return TANH_FACTOR * (x + 0.044715 * x * x * x);
    }

    private static double tanhSlope(double x) {
        return TANH_FACTOR * (1 + 3 * 0.044715 * x * x);
    }

    /** {@code ½ · (1 + tanh z)}, in the form that keeps its digits below 0. */
    private static double half(double x) {
        double z = tanhArgument(x);
        return z > -1 ? (1 + StrictMath.tanh(z)) / 2 : 1 / (1 + StrictMath.exp(-2 * z));
    }

    /** {@code e^(−x²/2) / √(2π)}. */
    public static double normalDensity(double x) {
        return StrictMath.exp(-x * x / 2) / StrictMath.sqrt(2 * StrictMath.PI);
    }

    /** Φ by its series with positive terms, and beyond ±1 by Laplace's continued fraction. */
    public static double normalCdf(double x) {
        if (x > 1) {
            return 1 - normalCdf(-x);
        }
        if (x < -1) {
            double fraction = -x;
            for (int k = 1000; k >= 1; k--) {
                fraction = -x + k / fraction;
            }
            return normalDensity(x) / fraction;
        }
        double sum = 0;
        double term = x;
        for (int k = 1; Math.abs(term) > 1e-20; k++) {
            sum += term;
            term *= x * x / (2 * k + 1);
        }
        return 0.5 + normalDensity(x) * sum;
    }
}
