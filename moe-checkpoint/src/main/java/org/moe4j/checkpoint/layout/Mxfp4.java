package org.moe4j.checkpoint.layout;

/** The 4-bit numbers of MXFP4: a sign, two bits of exponent, one of mantissa. */
final class Mxfp4 {
    /** Numbers under one scale. */
    static final int BLOCK = 32;

    private static final int NAN_SCALE = 255;
    private static final int BIAS = 127;

    private static final double[] MAGNITUDES = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

    private Mxfp4() {}

    /** The number of four bits under a scale of eight; exact. */
    static double value(int bits, int scale) {
        if (scale == NAN_SCALE) {
            return Double.NaN;
        }
        double magnitude = Math.scalb(MAGNITUDES[bits & 7], scale - BIAS);
        return (bits & 8) == 0 ? magnitude : -magnitude;
    }
}
