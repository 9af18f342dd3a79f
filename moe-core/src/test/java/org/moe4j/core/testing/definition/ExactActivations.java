package org.moe4j.core.testing.definition;

import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.ClampedSwiGlu;
import org.moe4j.core.backend.Activation.GeluExact;
import org.moe4j.core.backend.Activation.GeluTanh;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.ReluSquared;
import org.moe4j.core.testing.PlainActivations;

/** The definition of every activation with twice the digits of a double: of a number alone, with up 1 where there is a gate. */
public final class ExactActivations {
    /** Beyond, e^x or its digits leave the doubles, and values are the limits or 0. */
    private static final double FAR = 600;

    private static final double U = 0x1p-53;

    /**
     * Relative error in u that Φ of the library may have.
     *
     * <p>Φ(−a): {@code Σ(2i + 2)|c||t|^i} of the polynomial's sum and what three roundings of t make of it, together 6.45 at a = 0 and less up
     * to where Φ is 0; 2 of the power; 3 of the product with the sum, of 1 + a and of the quotient. Two more where a² ≥ 2: of
     * {@code 1 − roundedAway/2} and of its product with the power. Where a² &lt; 2 this factor is rounded to 1, the product is exact, and the
     * factor is off by a²/2 at most, and not by more than ½. So 11.45 at a = 0, at most 9.7 from √2 to 5, and 11.35 at a = 44.7, the last one.
     *
     * <p>Φ(a) is {@code 1 − tail}: the same times tail/(1 − tail), and a rounding of 1/(2(1 − tail)). 12.45 for a → 0, and less for all others.
     * All roundings at once would be 14.45 there, but those two beside the power do not occur below √2.
     */
    public static final double CDF = 13;

    private static final int FRACTIONS = 100; // of Laplace's continued fraction: for a ≥ 4 some 30 are enough

    private ExactActivations() {}

    /** Value and slope as high and low parts; nothing where the number, or what stands in an exponent, is too large to tell. */
    public static double[] of(Activation activation, double x) {
        if (!(Math.abs(x) < FAR) || Math.abs(exponent(activation, x)) > FAR) {
            return new double[0];
        }
        DoubleDouble at = DoubleDouble.of(x);
        DoubleDouble[] both = both(activation, at);
        return new double[] {both[0].high(), both[0].low(), both[1].high(), both[1].low()};
    }

    /** Distance of a double from one of the two numbers. */
    public static double distance(double actual, double[] exact, int place) {
        return Math.abs((actual - exact[place]) - exact[place + 1]);
    }

    /**
     * What a value in double may be off. {@code x · σ(t)} has a sum, a quotient and a product, each rounded, and a power, whose unit in the last
     * place, {@code 2u}, and whose exponent's error count as far as the power counts in {@code 1 + e^−t}. Exact GELU has Φ and a product.
     */
    public static double allowance(Activation activation, double x, double value) {
        double size = Math.abs(value);
        if (activation instanceof GeluExact) {
            return (CDF + 1) * U * size;
        }
        if (activation instanceof Relu || activation instanceof ReluSquared) {
            return U * size;
        }
        double t = exponent(activation, x);
        double share = 1 / (1 + StrictMath.exp(t)); // of the power in 1 + e^-t
        double offset = activation instanceof ClampedSwiGlu ? 1 : 0; // one product more
        return U * size * (3 + offset + share * (2 + exponentRoundings(activation) * Math.abs(t))) + Double.MIN_VALUE;
    }

    /** Of tanh GELU: two constants, three products of the cube, a sum and a product. */
    private static int exponentRoundings(Activation activation) {
        if (activation instanceof GeluTanh) {
            return 7;
        }
        return activation instanceof ClampedSwiGlu ? 1 : 0;
    }

    /** Sum of the absolute values of what the slope is made of, with the exponent's rounding. */
    public static double slopeGauge(Activation activation, double x) {
        return activation.gated()
                ? PlainActivations.gateGauge(activation, x, 1)
                : PlainActivations.upGauge(activation, 0, x);
    }

    private static double exponent(Activation activation, double x) {
        if (activation instanceof GeluExact) {
            return -x * x / 2;
        }
        if (activation instanceof GeluTanh) {
            return 2 * StrictMath.sqrt(2 / StrictMath.PI) * (x + 0.044715 * x * x * x);
        }
        return activation instanceof ClampedSwiGlu c ? c.alpha() * x : x;
    }

    private static DoubleDouble[] both(Activation activation, DoubleDouble x) {
        DoubleDouble zero = DoubleDouble.of(0);
        if (activation instanceof Relu || activation instanceof ReluSquared) {
            boolean squared = activation instanceof ReluSquared;
            DoubleDouble slope = squared ? x.plus(x) : DoubleDouble.ONE;
            return x.high() > 0
                    ? new DoubleDouble[] {squared ? x.times(x) : x, slope}
                    : new DoubleDouble[] {zero, zero};
        }
        if (activation instanceof GeluExact) {
            DoubleDouble cdf = cdf(x);
            return new DoubleDouble[] {x.times(cdf), cdf.plus(x.times(density(x)))};
        }
        if (activation instanceof GeluTanh) {
            DoubleDouble square = x.times(x).times(DoubleDouble.of(0.044715));
            DoubleDouble twice = DoubleDouble.ROOT_OF_TWO_BY_PI.times(DoubleDouble.of(2));
            DoubleDouble inner = twice.times(x).times(DoubleDouble.ONE.plus(square));
            DoubleDouble slope = twice.times(DoubleDouble.ONE.plus(square.times(DoubleDouble.of(3))));
            return logistic(x, inner, slope);
        }
        if (activation instanceof ClampedSwiGlu c) {
            DoubleDouble alpha = DoubleDouble.of(c.alpha());
            DoubleDouble cut = DoubleDouble.of(Math.min(x.high(), c.limit()));
            DoubleDouble up = DoubleDouble.of(1 + c.offset());
            DoubleDouble[] both = logistic(cut, alpha.times(cut), alpha);
            return new DoubleDouble[] {both[0].times(up), x.high() > c.limit() ? zero : both[1].times(up)};
        }
        return logistic(x, x, DoubleDouble.ONE);
    }

    /** {@code x · σ(t)} and its slope {@code σ + x · σ · (1 − σ) · t′}. */
    private static DoubleDouble[] logistic(DoubleDouble x, DoubleDouble t, DoubleDouble slopeOfT) {
        DoubleDouble s = t.sigmoid();
        DoubleDouble rest = t.negated().sigmoid();
        return new DoubleDouble[] {x.times(s), s.plus(x.times(s).times(rest).times(slopeOfT))};
    }

    /** {@code e^(−x²/2) / √(2π)}. */
    public static DoubleDouble density(DoubleDouble x) {
        return x.times(x).times(DoubleDouble.of(-0.5)).exp().times(DoubleDouble.DENSITY_AT_ZERO);
    }

    /** Φ: its series with positive terms, and Laplace's continued fraction beyond 4. */
    public static DoubleDouble cdf(DoubleDouble x) {
        if (x.high() > 0) {
            return DoubleDouble.ONE.minus(cdf(x.negated()));
        }
        DoubleDouble a = x.negated();
        if (a.high() > 4) {
            DoubleDouble fraction = a;
            for (int k = FRACTIONS; k >= 1; k--) {
                fraction = a.plus(DoubleDouble.of(k).dividedBy(fraction));
            }
            return density(x).dividedBy(fraction);
        }
        DoubleDouble term = a;
        DoubleDouble sum = a;
        for (int k = 1; term.high() > 1e-34 * sum.high(); k++) {
            term = term.times(a).times(a).dividedBy(DoubleDouble.of(2 * k + 1));
            sum = sum.plus(term);
        }
        return DoubleDouble.of(0.5).minus(density(x).times(sum));
    }
}
