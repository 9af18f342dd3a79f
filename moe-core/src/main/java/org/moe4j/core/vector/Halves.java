package org.moe4j.core.vector;

/** Weights of 16 bits: which numbers they can hold, and back. Only finite ones occur. */
final class Halves {
    private static final float FLOAT16_SCALE = 0x1p112f; // between the biases of binary16 and binary32

    private Halves() {}

    static float bfloat16(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    static float float16(short bits) {
        return Float.intBitsToFloat(((bits << 16) >> 3) & 0x8fff_e000) * FLOAT16_SCALE;
    }

    /** Whether a bfloat16 is this number. */
    static boolean isBfloat16(float value) {
        return (Float.floatToRawIntBits(value) & 0xffff) == 0;
    }

    /** Whether a finite binary16 is this number. */
    static boolean isFloat16(float value) {
        return Math.abs(value) <= 65504 && float16(toFloat16(value)) == value;
    }

    /** A number that {@link #isBfloat16}. */
    static short toBfloat16(float value) {
        return (short) (Float.floatToRawIntBits(value) >> 16);
    }

    /** The number towards zero, exact for one that {@link #isFloat16}. */
    static short toFloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        int magnitude = Float.floatToRawIntBits(Float.intBitsToFloat(bits & 0x7fff_ffff) / FLOAT16_SCALE) >> 13;
        return (short) (magnitude | ((bits >>> 16) & 0x8000));
    }
}
