package org.moe4j.checkpoint.safetensors;

/** Whether numbers are finite. The loops have no branch, which makes them a fraction of the time. */
final class Finite {
    // The exponents, and what added to one of all ones, and to no other, gives the bit above it.
    private static final int BFLOAT16_EXPONENTS = 0x7f80_7f80;
    private static final int BFLOAT16_ONES = 0x0080_0080;
    private static final int BFLOAT16_OVERFLOWS = 0x8000_8000;

    private Finite() {}

    /** Two numbers of 16 bits in each {@code int}. */
    static boolean bfloat16(int[] pairs, int count) {
        int overflows = 0;
        for (int i = 0; i < count; i++) {
            overflows |= (pairs[i] & BFLOAT16_EXPONENTS) + BFLOAT16_ONES;
        }
        return (overflows & BFLOAT16_OVERFLOWS) == 0;
    }

    static boolean all(float[] values, int at, int count) {
        float largest = 0; // NaN as soon as one is
        for (int i = at; i < at + count; i++) {
            largest = Math.max(largest, Math.abs(values[i]));
        }
        return Float.isFinite(largest);
    }
}
