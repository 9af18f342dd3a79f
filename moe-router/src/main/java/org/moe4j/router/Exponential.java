package org.moe4j.router;

/**
 * {@code e^x} in plain double arithmetic: the same bits on every JVM, as {@link StrictMath#exp}, at a fraction of its cost.
 *
 * <p>{@code x = (2048·q + j)·ln2/2048 + r} with {@code |r| ≤ ln2/4096}; then {@code e^x = 2^q · 2^(j/2048) · e^r}, the second factor
 * from a table and the last a polynomial of degree 3, whose cut-off {@code r⁴/24} is below 4·10⁻¹⁷. The error is below 1.5 units in
 * the last place. Where the result is near or below the smallest normal number, or large, it is {@code StrictMath.exp}.
 */
final class Exponential {
    private static final int BITS = 11;
    private static final int MASK = (1 << BITS) - 1;
    private static final double STEPS_PER_UNIT = (1 << BITS) / 0.6931471805599453;
    private static final double STEP_HIGH =
            0x1.62e42feep-1 / (1 << BITS); // 31 bits: products with whole numbers are exact
    private static final double STEP_LOW = 0x1.a39ef35793c76p-33 / (1 << BITS);
    private static final double ROUND = 0x1.8p52; // adding it rounds to a whole number, found in the lowest bits
    private static final double COARSE = 0x1.8p22; // its last place is 2^−30
    private static final int RANGE_BITS =
            21; // 2^20 steps each way are |x| < 354.8: 2^q and the result are normal numbers
    private static final long LOWEST_STEP = Double.doubleToRawLongBits(ROUND) - (1L << (RANGE_BITS - 1));
    private static final long[] POWERS = powers();

    private Exponential() {}

    private static long[] powers() {
        long[] powers = new long[1 << BITS];
        for (int j = 0; j < powers.length; j++) {
            powers[j] = Double.doubleToRawLongBits(StrictMath.pow(2, (double) j / powers.length));
        }
        return powers;
    }

    /** {@code e^x} for any x. */
    static double of(double x) {
        double shifted = x * STEPS_PER_UNIT + ROUND;
        long step = Double.doubleToRawLongBits(shifted);
        if ((step - LOWEST_STEP) >>> RANGE_BITS != 0) { // also when x is not finite
            return StrictMath.exp(x);
        }
        double whole = shifted - ROUND;
        double r = (x - whole * STEP_HIGH) - whole * STEP_LOW;
        double power = power(step);
        return power + power * (r + r * r * (0.5 + r * (1.0 / 6)));
    }

    /** {@code 2^(step/2048)}, the step being a whole number in the lowest bits. */
    private static double power(long step) {
        return Double.longBitsToDouble(POWERS[(int) step & MASK] + (step >> BITS << 52));
    }

    /**
     * {@code into[e] = e^(factor · x[from + e] − shift)}, the same bits as {@link #of} one by one, in half the time: the part that
     * needs no table is a loop of its own, of which the JVM's compiler makes vector instructions.
     *
     * @param factor 1 or −1
     * @return the sum, of powers up to 1 as near as one rounding; infinite or NaN where one of them is infinite
     */
    static double all(double[] x, int from, double factor, double shift, double[] into) {
        System.arraycopy(x, from, into, 0, into.length); // a loop that reads from an offset gets no vector instructions
        for (int e = 0; e < into.length; e++) {
            double y = into[e] * factor - shift;
            double whole = (y * STEPS_PER_UNIT + ROUND) - ROUND;
            double r = (y - whole * STEP_HIGH) - whole * STEP_LOW;
            into[e] = r + r * r * (0.5 + r * (1.0 / 6));
        }
        double high = 0;
        double low = 0;
        long beyond = 0;
        for (int e = 0; e < into.length; e++) {
            double shifted = (x[from + e] * factor - shift) * STEPS_PER_UNIT + ROUND;
            long step = Double.doubleToRawLongBits(shifted);
            beyond |= step - LOWEST_STEP;
            double power = power(step);
            into[e] = power + power * into[e];
            double coarse = coarse(into[e]);
            high += coarse;
            low += into[e] - coarse;
        }
        return beyond >>> RANGE_BITS == 0 ? high + low : oneByOne(x, from, factor, shift, into);
    }

    private static double oneByOne(double[] x, int from, double factor, double shift, double[] into) {
        for (int e = 0; e < into.length; e++) {
            into[e] = of(x[from + e] * factor - shift);
        }
        return sum(into, 0, into.length);
    }

    /**
     * The sum of powers from a position on, as near as one rounding where none is above 1: of many small ones beside a large one none is
     * lost. The coarse parts add up exactly; what is left of each is below 2^−31, and so are the roundings of its sum beside the other.
     */
    static double sum(double[] powers, int from, int count) {
        double high = 0;
        double low = 0;
        for (int at = from; at < from + count; at++) {
            double coarse = coarse(powers[at]);
            high += coarse;
            low += powers[at] - coarse;
        }
        return high + low;
    }

    /** A multiple of 2^−30 near a number. */
    private static double coarse(double power) {
        return (power + COARSE) - COARSE;
    }
}
