package org.moe4j.router.loss;

/** The standard normal distribution. */
final class Normal {
    private static final double ROOT = StrictMath.sqrt(2 * StrictMath.PI);
    private static final double TAIL = 3.5;
    private static final int FRACTIONS = 60; // at the beginning of the tail the fraction has settled before

    private Normal() {}

    /** The density {@code φ(x)}. */
    static double density(double x) {
        return StrictMath.exp(-x * x / 2) / ROOT;
    }

    /**
     * The distribution function Φ(x), to a few units in the last place, in the lower tail too: near 0 the series {@code ½ + φ(x)·(x + x³/3 +
     * x⁵/(3·5) + …)}, in the tails Laplace's continued fraction {@code φ(x)/(x + 1/(x + 2/(x + …)))}.
     */
    static double distribution(double x) {
        if (Math.abs(x) < TAIL) {
            double term = x;
            double sum = x;
            for (int n = 3; Math.abs(term) > 1e-18 * Math.abs(sum); n += 2) {
                term *= x * x / n;
                sum += term;
            }
            return 0.5 + density(x) * sum;
        }
        double away = Math.abs(x);
        double fraction = away;
        for (int n = FRACTIONS; n > 0; n--) {
            fraction = away + n / fraction;
        }
        double tail = density(x) / fraction;
        return x < 0 ? tail : 1 - tail;
    }
}
