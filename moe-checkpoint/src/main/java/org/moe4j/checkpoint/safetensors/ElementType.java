package org.moe4j.checkpoint.safetensors;

import java.util.Arrays;
import java.util.Optional;

/** What the numbers of a tensor are stored as, all little-endian; the constants have the names of the format. */
public enum ElementType {
    /** IEEE 754 binary64. */
    F64(8),
    /** IEEE 754 binary32. */
    F32(4),
    /** IEEE 754 binary16. */
    F16(2),
    /** The upper half of a binary32. */
    BF16(2),
    /** Eight bits with four of exponent, without infinities, as in the OCP 8-bit floating point specification. */
    F8_E4M3(1),
    /** Eight bits with five of exponent, as in the OCP 8-bit floating point specification. */
    F8_E5M2(1),
    /** Signed, two's complement. */
    I64(8),
    /** Signed, two's complement. */
    I32(4),
    /** Signed, two's complement. */
    I16(2),
    /** Signed, two's complement. */
    I8(1),
    /** Unsigned. */
    U8(1),
    /** Unsigned. */
    U16(2),
    /** Unsigned. */
    U32(4),
    /** Unsigned. */
    U64(8),
    /** One byte, 0 or 1. */
    BOOL(1);

    private final int bytes;

    ElementType(int bytes) {
        this.bytes = bytes;
    }

    /**
     * Size of a number.
     *
     * @return bytes, 1 to 8
     */
    public int bytes() {
        return bytes;
    }

    static Optional<ElementType> named(String name) {
        return Arrays.stream(values()).filter(type -> type.name().equals(name)).findFirst();
    }
}
