package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whole numbers as they are read from files, many at once. */
class IntegersTest {
    private static final int COUNT = 10_000; // more than two pieces, and no multiple of one

    @ParameterizedTest
    @EnumSource(names = {"I64", "I32", "I16", "I8", "U8", "U16", "U32", "U64", "BOOL"})
    void everyNumberIsWhatItsBytesSay(ElementType type) {
        byte[] stored = new byte[1 + COUNT * type.bytes()];
        new Random(7).nextBytes(stored);
        for (int from : new int[] {0, 1, COUNT - 1, COUNT}) {
            int[] read = new int[COUNT - from + 2];
            ByteBuffer bytes = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN);
            Integers.read(type, bytes.position(1 + from * type.bytes()), read, 1, COUNT - from);
            assertThat(read[0]).isZero();
            assertThat(read[COUNT - from + 1]).isZero();
            for (int i = 0; i < COUNT - from; i++) {
                assertThat(read[1 + i]).isEqualTo(defined(type, stored, 1 + (from + i) * type.bytes()));
            }
        }
    }

    /** The sum of the bytes by their places, the last of which counts negative where there is a sign. */
    private static int defined(ElementType type, byte[] stored, int at) {
        BigInteger value = number(type, stored, at);
        return value.min(BigInteger.valueOf(Integer.MAX_VALUE))
                .max(BigInteger.valueOf(Integer.MIN_VALUE))
                .intValueExact();
    }

    private static BigInteger number(ElementType type, byte[] stored, int at) {
        byte[] bigEndian = new byte[type.bytes()];
        for (int i = 0; i < bigEndian.length; i++) {
            bigEndian[i] = stored[at + bigEndian.length - 1 - i];
        }
        return type.name().startsWith("I") ? new BigInteger(bigEndian) : new BigInteger(1, bigEndian);
    }

    /** The nearest of all numbers of the type, ties to even, as of {@code BigInteger}. */
    @ParameterizedTest
    @EnumSource(names = {"I64", "I32", "I16", "I8", "U8", "U16", "U32", "U64"})
    void numbersAreRoundedOnce(ElementType type) {
        byte[] stored = new byte[COUNT * type.bytes()];
        new Random(8).nextBytes(stored);
        double[] wide = new double[COUNT];
        float[] narrow = new float[COUNT];
        ByteBuffer bytes = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN);
        Elements.read(type, bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN), wide, 0, COUNT);
        assertThat(Elements.read(type, bytes, narrow, 0, COUNT)).isTrue();
        for (int i = 0; i < COUNT; i++) {
            BigInteger number = number(type, stored, i * type.bytes());
            assertThat(wide[i]).isEqualTo(number.doubleValue());
            assertThat(narrow[i]).isEqualTo(number.floatValue());
        }
    }

    @Test
    void longsThatIntHoldsStayAsTheyAre() {
        ByteBuffer bytes = ByteBuffer.allocate(4 * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(63).putLong(-1).putLong(1L << 31).putLong(-(1L << 40)).flip();
        int[] read = new int[4];
        Integers.read(ElementType.I64, bytes, read, 0, 4);
        assertThat(read).containsExactly(63, -1, Integer.MAX_VALUE, Integer.MIN_VALUE);
    }

    @Test
    void floatsAreRefused() {
        assertThatThrownBy(() -> Integers.read(ElementType.F32, ByteBuffer.allocate(4), new int[1], 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("type: expected a type of whole numbers but was F32");
    }
}
