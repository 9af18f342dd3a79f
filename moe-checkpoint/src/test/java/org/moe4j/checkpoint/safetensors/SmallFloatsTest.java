package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.NavigableMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.testing.Promise;

class SmallFloatsTest {
    /** By definition: {@code ±2^(e−bias)·(1 + m/2^M)}, and {@code ±2^(1−bias)·m/2^M} for e = 0. */
    static double defined(int bits, int exponentBits, int mantissaBits) {
        int bias = (1 << (exponentBits - 1)) - 1;
        int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
        double mantissa = (bits & ((1 << mantissaBits) - 1)) / (double) (1 << mantissaBits);
        double sign = ((bits >> (exponentBits + mantissaBits)) & 1) == 0 ? 1 : -1;
        return exponent == 0
                ? sign * Math.pow(2, 1 - bias) * mantissa
                : sign * Math.pow(2, exponent - bias) * (1 + mantissa);
    }

    private static void assertSameBits(float actual, double expected, int bits) {
        assertThat(Float.floatToRawIntBits(actual))
                .as(Integer.toHexString(bits))
                .isEqualTo(Float.floatToRawIntBits((float) expected));
    }

    /** NaN, of the sign that the highest bit says. */
    private static void assertNan(float actual, int signed) {
        assertThat(actual).as(Integer.toHexString(signed)).isNaN();
        assertThat(Float.floatToRawIntBits(actual) < 0).as("sign of %x", signed).isEqualTo(signed < 0);
    }

    /** NaN of the same sign in both formats of 16 bits, by their definition, and back. */
    private static void assertNanStays(float nan) {
        int bits = Float.floatToRawIntBits(nan);
        short half = SmallFloats.toFloat16(nan);
        assertThat(half & 0x7fff).as(Integer.toHexString(bits)).isGreaterThan(0x7c00);
        assertThat(half < 0).as(Integer.toHexString(bits)).isEqualTo(bits < 0);
        assertNan(SmallFloats.float16(half), bits);
        short brain = SmallFloats.toBfloat16(nan);
        assertThat(brain & 0x7fff).as(Integer.toHexString(bits)).isGreaterThan(0x7f80);
        assertThat(brain < 0).as(Integer.toHexString(bits)).isEqualTo(bits < 0);
        assertNan(SmallFloats.bfloat16(brain), bits);
    }

    /** Two at a time, as tensors are read: the same bits as one at a time, whose definition is above. */
    @Test
    void pairsAreWidenedAsSingleNumbersAre() {
        int[] pairs = new int[1 << 16];
        for (int bits = 0; bits < pairs.length; bits++) {
            pairs[bits] = bits | (bits ^ 0xabcd) << 16;
        }
        float[] half = new float[2 * pairs.length];
        float[] brain = new float[2 * pairs.length];
        assertThat(SmallFloats.float16(pairs, half, 0, pairs.length)).isFalse();
        SmallFloats.bfloat16(pairs, brain, 0, pairs.length);
        for (int i = 0; i < half.length; i++) {
            short bits = (short) (i % 2 == 0 ? pairs[i / 2] : pairs[i / 2] >> 16);
            assertThat(Float.floatToRawIntBits(half[i]))
                    .as("F16 %x", bits)
                    .isEqualTo(Float.floatToRawIntBits(SmallFloats.float16(bits)));
            assertThat(Float.floatToRawIntBits(brain[i])).as("BF16 %x", bits).isEqualTo(bits << 16);
        }
    }

    @Test
    void everyNumberOfBinary16IsItsDefinition() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            float value = SmallFloats.float16((short) bits);
            if ((bits & 0x7c00) != 0x7c00) {
                assertSameBits(value, defined(bits, 5, 10), bits);
            } else if ((bits & 0x3ff) == 0) {
                assertThat(value).isEqualTo(bits == 0x7c00 ? Float.POSITIVE_INFINITY : Float.NEGATIVE_INFINITY);
            } else {
                assertNan(value, bits << 16);
            }
        }
    }

    @Test
    void everyNumberOfE5m2IsItsDefinition() {
        for (int bits = 0; bits < 1 << 8; bits++) {
            float value = SmallFloats.e5m2((byte) bits);
            if ((bits & 0x7c) != 0x7c) {
                assertSameBits(value, defined(bits, 5, 2), bits);
            } else if ((bits & 3) == 0) {
                assertThat(value).isEqualTo(bits == 0x7c ? Float.POSITIVE_INFINITY : Float.NEGATIVE_INFINITY);
            } else {
                assertNan(value, bits << 24);
            }
        }
    }

    @Test
    void everyNumberOfE4m3IsItsDefinition() {
        for (int bits = 0; bits < 1 << 8; bits++) {
            float value = SmallFloats.e4m3((byte) bits);
            if ((bits & 0x7f) == 0x7f) {
                assertNan(value, bits << 24);
            } else {
                assertSameBits(value, defined(bits, 4, 3), bits);
            }
        }
        assertThat(SmallFloats.e4m3((byte) 0x7e)).isEqualTo(448); // the largest: there is no infinity
    }

    @Test
    void everyNumberOfBfloat16IsTheUpperHalfOfABinary32() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            float value = SmallFloats.bfloat16((short) bits);
            if ((bits & 0x7f80) != 0x7f80) {
                assertSameBits(value, defined(bits, 8, 7), bits);
            }
            assertThat(Float.isNaN(value)).isEqualTo((bits & 0x7fff) > 0x7f80);
            assertThat(Float.isInfinite(value)).isEqualTo((bits & 0x7fff) == 0x7f80);
            assertThat(Float.floatToRawIntBits(value)).isEqualTo(bits << 16);
        }
    }

    @Test
    void whatIsANarrowNumberComesBackWithItsBits() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            float half = SmallFloats.float16((short) bits);
            if (Float.isNaN(half)) {
                assertNanStays(half);
            } else {
                assertThat(SmallFloats.toFloat16(half)).isEqualTo((short) bits);
            }
            float brain = SmallFloats.bfloat16((short) bits);
            if (Float.isNaN(brain)) {
                assertNanStays(brain);
            } else {
                assertThat(SmallFloats.toBfloat16(brain)).isEqualTo((short) bits);
            }
        }
        Promise.measured(
                18, "16-bit patterns", "0 of 2 x 65,536 patterns of F16 and BF16 change; NaN stays NaN of its sign");
    }

    @Test
    void aNanWhoseLowBitsAloneSayItIsOneStaysNan() {
        assertNanStays(Float.intBitsToFloat(0x7f80_0001));
        assertNanStays(Float.intBitsToFloat(0xff80_0001));
    }

    /** All finite numbers of a format with the bits of each, and the first number beyond them, which means infinity. */
    private static NavigableMap<Double, Integer> table(int exponentBits, int mantissaBits) {
        NavigableMap<Double, Integer> table = new TreeMap<>();
        int infinity = ((1 << exponentBits) - 1) << mantissaBits;
        for (int bits = 0; bits < infinity; bits++) {
            table.put(defined(bits, exponentBits, mantissaBits), bits);
        }
        table.put(Math.pow(2, 1 << (exponentBits - 1)), infinity);
        return table;
    }

    /** The nearest number of the table; of two equally near ones that with even bits. */
    private static int nearest(NavigableMap<Double, Integer> table, double magnitude) {
        if (magnitude >= table.lastKey()) {
            return table.get(table.lastKey());
        }
        double below = table.floorKey(magnitude);
        double above = table.higherKey(magnitude);
        if (magnitude - below == above - magnitude) {
            return table.get(below) % 2 == 0 ? table.get(below) : table.get(above);
        }
        return table.get(magnitude - below < above - magnitude ? below : above);
    }

    private static void assertNearest(
            NavigableMap<Double, Integer> half, NavigableMap<Double, Integer> brain, float x) {
        int sign = x < 0 || 1 / x < 0 ? 0x8000 : 0;
        assertThat(SmallFloats.toFloat16(x)).as("%a", x).isEqualTo((short) (sign | nearest(half, Math.abs(x))));
        assertThat(SmallFloats.toBfloat16(x)).as("%a", x).isEqualTo((short) (sign | nearest(brain, Math.abs(x))));
    }

    @Test
    void everyOtherNumberBecomesTheNearest() {
        NavigableMap<Double, Integer> half = table(5, 10);
        NavigableMap<Double, Integer> brain = table(8, 7);
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 200_000; i++) {
            float any = Float.intBitsToFloat(random.nextInt());
            if (!Float.isNaN(any)) {
                assertNearest(half, brain, any);
            }
            assertNearest(half, brain, (float) Math.scalb(random.nextDouble(-1, 1), -random.nextInt(30)));
        }
        for (NavigableMap<Double, Integer> table : List.of(half, brain)) {
            double below = 0;
            for (double number : table.keySet()) {
                float tie = (float) ((below + number) / 2);
                for (float x : new float[] {tie, Math.nextUp(tie), Math.nextDown(tie), (float) number}) {
                    assertNearest(half, brain, x);
                    assertNearest(half, brain, -x);
                }
                below = number;
            }
        }
    }

    @Test
    void patternsFarApartBecomeTheNearest() {
        roundPatterns("rounded patterns", 65_537);
    }

    @Test
    @Tag("soak")
    void everyTwoHundredAndFiftySixthPatternBecomesTheNearest() {
        roundPatterns("rounded patterns in the long run", 256);
    }

    private static void roundPatterns(String what, int step) {
        NavigableMap<Double, Integer> half = table(5, 10);
        NavigableMap<Double, Integer> brain = table(8, 7);
        long nans = 0;
        long numbers = 0;
        for (long bits = 0; bits < 1L << 32; bits += step) {
            float x = Float.intBitsToFloat((int) bits);
            if (Float.isNaN(x)) {
                assertNanStays(x);
                nans++;
            } else {
                assertNearest(half, brain, x);
                numbers++;
            }
        }
        Promise.measured(
                18,
                what,
                "0 of %d binary32 patterns, every %dth, are not the nearest even F16 and BF16; %d of %d NaNs stay NaN of their sign"
                        .formatted(numbers, step, nans, nans));
    }
}
