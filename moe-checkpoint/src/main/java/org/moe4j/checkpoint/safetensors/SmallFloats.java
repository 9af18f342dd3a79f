package org.moe4j.checkpoint.safetensors;

/**
 * Floating-point numbers of 16 and 8 bits. Every one of them is a {@code float} exactly; the other way is rounded to the nearest,
 * ties to even. NaN stays NaN, zero keeps its sign, subnormal numbers stay what they are.
 */
final class SmallFloats {
    private static final int FLOAT_SIGN = 0x8000_0000;
    private static final int FLOAT_INFINITY = 0x7f80_0000;
    private static final int FLOAT16_IN_FLOAT =
            0x8fff_e000; // sign, and 15 bits that end where those of a float's mantissa begin
    private static final float FLOAT16_SCALE = 0x1p112f; // between the biases
    private static final float FLOAT16_INFINITY = 0x1p16f; // what the bits of infinity would be as a number

    /** All numbers of eight bits by their bits. */
    static final float[] E4M3 = new float[256];

    static final float[] E5M2 = new float[256];

    static {
        for (int bits = 0; bits < 256; bits++) {
            E4M3[bits] = e4m3((byte) bits);
            E5M2[bits] = e5m2((byte) bits);
        }
    }

    private SmallFloats() {}

    static float bfloat16(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    /** Widens the lower, then the upper half of each {@code int}. */
    static void bfloat16(int[] pairs, float[] into, int at, int count) {
        for (int i = 0; i < count; i++) {
            int pair = pairs[i];
            into[at + 2 * i] = Float.intBitsToFloat(pair << 16);
            into[at + 2 * i + 1] = Float.intBitsToFloat(pair & 0xffff_0000);
        }
    }

    static short toBfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return (short) ((bits >> 16) | 0x40); // quiet: dropping the low bits alone could leave an infinity
        }
        int half = 0x7fff + ((bits >> 16) & 1);
        return (short) ((bits + half) >>> 16);
    }

    static float float16(short bits) {
        int magnitude = bits & 0x7fff;
        if (magnitude >= 0x7c00) {
            return widen(bits, 5, 10, true);
        }
        float value = Float.intBitsToFloat(magnitude << 13) * FLOAT16_SCALE; // subnormal or not
        return Float.intBitsToFloat(Float.floatToRawIntBits(value) | ((bits << 16) & FLOAT_SIGN));
    }

    /** Widens the lower, then the upper half of each {@code int}, and says whether all are finite. */
    static boolean float16(int[] pairs, float[] into, int at, int count) {
        float largest = 0;
        for (int i = 0; i < count; i++) {
            int pair = pairs[i];
            float lower = Float.intBitsToFloat(((pair << 16) >> 3) & FLOAT16_IN_FLOAT) * FLOAT16_SCALE;
            float upper = Float.intBitsToFloat((pair >> 3) & FLOAT16_IN_FLOAT) * FLOAT16_SCALE;
            into[at + 2 * i] = lower;
            into[at + 2 * i + 1] = upper;
            largest = Math.max(largest, Math.max(Math.abs(lower), Math.abs(upper)));
        }
        if (largest < FLOAT16_INFINITY) {
            return true;
        }
        for (int i = 0; i < count; i++) { // rare: infinities and NaN have come out as numbers
            into[at + 2 * i] = float16((short) pairs[i]);
            into[at + 2 * i + 1] = float16((short) (pairs[i] >> 16));
        }
        return false;
    }

    static float e5m2(byte bits) {
        return float16((short) (bits << 8)); // the upper half of a binary16
    }

    static float e4m3(byte bits) {
        return widen(bits << 8, 4, 3 + 8, false);
    }

    /**
     * A number of one sign bit, exponent and mantissa, sixteen in all.
     *
     * @param infinities whether the largest exponent means infinity and NaN; else only all ones do mean NaN
     */
    private static float widen(int bits, int exponentBits, int mantissaBits, boolean infinities) {
        int sign = (bits << 16) & FLOAT_SIGN;
        int magnitude = bits & 0x7fff;
        int exponent = magnitude >> mantissaBits;
        int mantissa = magnitude & ((1 << mantissaBits) - 1);
        int bias = (1 << (exponentBits - 1)) - 1;
        int largest = (1 << exponentBits) - 1;
        if (exponent == largest && infinities) {
            return Float.intBitsToFloat(sign | FLOAT_INFINITY | (mantissa << (23 - mantissaBits)));
        }
        if (!infinities && (magnitude | 0xff) == 0x7fff) {
            return Float.intBitsToFloat(sign | FLOAT_INFINITY | 0x40_0000);
        }
        if (exponent == 0) {
            float subnormal = mantissa * Math.scalb(1f, 1 - bias - mantissaBits);
            return Float.intBitsToFloat(sign | Float.floatToRawIntBits(subnormal));
        }
        return Float.intBitsToFloat(sign | ((exponent - bias + 127) << 23) | (mantissa << (23 - mantissaBits)));
    }

    static short toFloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        int sign = (bits >>> 16) & 0x8000;
        int magnitude = bits & 0x7fff_ffff;
        if (magnitude > FLOAT_INFINITY) {
            return (short) (sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
        }
        if (magnitude >= 0x4780_0000) { // 2^16: beyond the largest number, rounded or not
            return (short) (sign | 0x7c00);
        }
        if (magnitude < 0x3880_0000) { // 2^-14: the sum below is aligned to the spacing of subnormal numbers
            float shifted = Float.intBitsToFloat(magnitude) + 0.5f;
            return (short) (sign | (Float.floatToRawIntBits(shifted) - 0x3f00_0000));
        }
        int rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
        return (short) (sign | ((rounded - ((127 - 15) << 23)) >> 13));
    }
}
