package org.moe4j.core.host;

/**
 * The logistic function for single precision, about 1 ns per element where {@link Math#exp} takes six.
 *
 * <p>{@code e^−x = (e^(−x / 2048))^2048}: a short polynomial near zero and eleven squarings, in double precision. There
 * are only multiplications, additions and one division, so that the compiler vectorises the loop and every JVM gets
 * the same bits. The relative error is below 6·10⁻¹⁰ for |x| ≤ 110, a hundredth of a rounding to single precision;
 * beyond, single precision knows only 0, subnormals and 1.
 */
public final class Sigmoid {
    private static final double LIMIT = 760; // e^760 is infinite and gives an exact 0

    private Sigmoid() {}

    /**
     * {@code y = 1 / (1 + e^−x)}.
     *
     * @param x arguments
     * @param y gets the values
     * @param count how many
     */
    public static void approximate(double[] x, double[] y, int count) {
        for (int i = 0; i < count; i++) {
            double r = Math.max(-LIMIT, Math.min(LIMIT, x[i])) * -0x1p-11;
            double e = 1 + r * (1 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720))))));
            e *= e;
            e *= e;
            e *= e;
            e *= e;
            e *= e;
            e *= e;
            e *= e;
            e *= e;
            e *= e;
            e *= e;
            e *= e;
            y[i] = 1 / (1 + e);
        }
    }
}
