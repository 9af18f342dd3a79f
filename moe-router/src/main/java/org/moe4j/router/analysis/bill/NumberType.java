package org.moe4j.router.analysis.bill;

import org.moe4j.core.internal.Require;

/** What a number is stored as, by its bits alone: scales that narrow types share among many numbers are left out. */
public enum NumberType {
    /** Double precision. */
    FLOAT64(64),
    /** Single precision. */
    FLOAT32(32),
    /** bfloat16 or binary16. */
    BITS16(16),
    /** FP8 or whole numbers of 8 bits. */
    BITS8(8),
    /** MXFP4 or whole numbers of 4 bits. */
    BITS4(4);

    private final int bits;

    NumberType(int bits) {
        this.bits = bits;
    }

    /**
     * Width of a number.
     *
     * @return bits
     */
    public int bits() {
        return bits;
    }

    /**
     * Room for some numbers.
     *
     * @param numbers how many, at least 0
     * @return bytes, rounded up
     * @throws IllegalArgumentException from 2⁶³ bits on
     */
    public long bytes(long numbers) {
        if (numbers < 0) {
            throw Require.expected("numbers", "at least 0", numbers);
        }
        return -Math.floorDiv(-Require.longProduct("numbers", numbers, bits), Byte.SIZE);
    }
}
