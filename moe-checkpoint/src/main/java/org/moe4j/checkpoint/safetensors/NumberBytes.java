package org.moe4j.checkpoint.safetensors;

import java.nio.ByteBuffer;

/** Numbers times a factor as bytes of a floating-point type, each rounded once; what that changes is counted. */
record NumberBytes(String name, ElementType type, Numbers numbers, double factor, StoredRounding rounding)
        implements TensorContent.Source {
    @Override
    public void write(long from, int count, ByteBuffer into) {
        TensorContent.Source.check(type, from, count, into);
        double[] values = new double[count];
        numbers.read(from, values, 0, count);
        for (int i = 0; i < count; i++) {
            double stored = put(type, values[i] * factor, into);
            if (!Double.isFinite(stored)) {
                throw new IllegalArgumentException(name + ": expected numbers that are finite as " + type
                        + (factor == 1 ? "" : " times " + factor) + " but number " + (from + i) + " is " + values[i]);
            }
            rounding.add(values[i], factor, stored);
        }
    }

    /** Puts a number, and says which one it has become. */
    static double put(ElementType type, double value, ByteBuffer into) {
        switch (type) {
            case F64 -> {
                into.putDouble(value);
                return value;
            }
            case F32 -> {
                into.putFloat((float) value);
                return (float) value;
            }
            case F16 -> {
                short bits = SmallFloats.toFloat16(toOdd(value));
                into.putShort(bits);
                return SmallFloats.float16(bits);
            }
            case BF16 -> {
                short bits = SmallFloats.toBfloat16(toOdd(value));
                into.putShort(bits);
                return SmallFloats.bfloat16(bits);
            }
            default -> throw new IllegalStateException(type.name());
        }
    }

    /**
     * The {@code float} beside a number whose last bit is one, if the number is none itself. Rounded further, to two bits less or
     * fewer, it gives what the number itself would: a {@code float} rounded to the nearest may be a tie that the number is not.
     */
    private static float toOdd(double value) {
        float near = (float) value;
        int bits = Float.floatToRawIntBits(near);
        if (near == value || (bits & 1) == 1 || !Float.isFinite(near)) {
            return near;
        }
        return Float.intBitsToFloat(Math.abs(value) > Math.abs(near) ? bits + 1 : bits - 1);
    }
}
