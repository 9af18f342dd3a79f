package org.moe4j.core.internal;

/**
 * The distribution function Φ of the standard normal distribution to a few units in the last place, also where it is
 * small: {@code ½ · (1 + erf(x / √2))} would lose every digit there.
 *
 * <p>{@code (1 + a) · e^(a²/2) · Φ(−a)} is smooth on 0 ≤ a ≤ ∞ and becomes a short polynomial in
 * {@code t = (a − 5) / (a + 5)}, as in Shepherd and Laframboise, Mathematics of Computation 36 (1981) 249–253, for erfc.
 * The coefficients are our own: the Chebyshev series of 24 terms, computed with 50 digits and sorted by powers of t. What
 * rounding a² costs is put back, or the far tail would lose digits.
 */
public final class NormalCdf {
    private static final double[] COEFFICIENTS = {
        0.46151582985003775,
        -0.09155228183400904,
        0.031030368425963708,
        0.010002352385229382,
        -0.026401042966308307,
        0.024536963243678652,
        -0.015170415402514863,
        0.006522000667783896,
        -0.00167607234455447,
        7.791597409338999e-06,
        0.00018233414511643843,
        -5.36075811148722e-05,
        -9.896097759279782e-06,
        9.05982468125664e-06,
        -7.034644683537101e-08,
        -1.3074486019237587e-06,
        1.27878221820937e-07,
        1.9627809920091187e-07,
        -2.6286205089898754e-08,
        -3.095201755804207e-08,
        3.627373163401201e-09,
        4.4011596227599254e-09,
        -2.8220772290629865e-10,
        -3.815816262632953e-10
    };

    private static final double CENTRE = 5;
    private static final double ROOT_OF_TWO_PI = Math.sqrt(2 * Math.PI);

    private NormalCdf() {}

    /**
     * Φ(x).
     *
     * @param x any number
     * @return in 0 … 1; NaN for NaN
     */
    public static double cdf(double x) {
        double tail = belowMinus(Math.abs(x));
        return x < 0 ? tail : 1 - tail;
    }

    /**
     * The density {@code φ(x) = e^(−x²/2) / √(2π)}, the derivative of Φ.
     *
     * @param x any number
     * @return at least 0; NaN for NaN
     */
    public static double density(double x) {
        return bell(Math.abs(x)) / ROOT_OF_TWO_PI;
    }

    /** Φ(−a) for a ≥ 0. */
    private static double belowMinus(double a) {
        double t = Double.isInfinite(a) ? 1 : (a - CENTRE) / (a + CENTRE);
        double sum = 0;
        for (int i = COEFFICIENTS.length - 1; i >= 0; i--) {
            sum = sum * t + COEFFICIENTS[i];
        }
        return bell(a) * sum / (1 + a);
    }

    /** {@code e^(−a²/2)}. */
    private static double bell(double a) {
        double square = a * a;
        if (square > 2000) {
            return 0; // e^−1000 is; and an infinite square has no rounding error to put back
        }
        double roundedAway = Math.fma(a, a, -square);
        return StrictMath.exp(-square / 2) * (1 - roundedAway / 2);
    }
}
