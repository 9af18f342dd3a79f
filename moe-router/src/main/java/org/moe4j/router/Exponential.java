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
    private static final double LIMIT = 700; // inside it 2^q is a normal number, and so is the result
    private static final double STEPS_PER_UNIT = (1 << BITS) / 0.6931471805599453;
    private static final double STEP_HIGH =
            0x1.62e42feep-1 / (1 << BITS); // 31 bits: products with whole numbers are exact
    private static final double STEP_LOW = 0x1.a39ef35793c76p-33 / (1 << BITS);
    private static final double ROUND = 0x1.8p52; // adding it rounds to a whole number, found in the lowest bits
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
        if (!(Math.abs(x) <= LIMIT)) {
            return StrictMath.exp(x);
        }
        double shifted = x * STEPS_PER_UNIT + ROUND;
        int step = (int) Double.doubleToRawLongBits(shifted);
        double whole = shifted - ROUND;
        double r = (x - whole * STEP_HIGH) - whole * STEP_LOW;
        double power = Double.longBitsToDouble(POWERS[step & MASK] + ((long) (step >> BITS) << 52));
        return power + power * (r + r * r * (0.5 + r * (1.0 / 6)));
    }
}
