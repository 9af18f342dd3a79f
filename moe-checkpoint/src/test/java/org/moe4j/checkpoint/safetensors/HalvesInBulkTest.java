package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Numbers of sixteen bits as they are read from files: many at once, from any place on, so that pairs are cut. */
class HalvesInBulkTest {
    private static final int ALL = 1 << 16;

    @ParameterizedTest
    @CsvSource({"F16, 5, 10", "BF16, 8, 7"})
    void everyNumberIsItsDefinitionWhereverReadingBegins(ElementType type, int exponentBits, int mantissaBits) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(1 + 2 * ALL).order(ByteOrder.LITTLE_ENDIAN);
        bytes.position(1);
        for (int bits = 0; bits < ALL; bits++) {
            bytes.putShort((short) bits);
        }
        int[] starts = {0, 1, 0x7bfe, 0x7c01, ALL - 1};
        int[] counts = {ALL, ALL - 1, 8191, 2, 1};
        for (int from : starts) {
            for (int count : counts) {
                if (from + count <= ALL) {
                    float[] read = new float[count + 2];
                    Elements.read(type, bytes.position(1 + 2 * from), read, 1, count);
                    assertThat(read[0]).isZero();
                    assertThat(read[count + 1]).isZero();
                    for (int i = 0; i < count; i++) {
                        assertNumber(read[1 + i], from + i, exponentBits, mantissaBits);
                    }
                }
            }
        }
    }

    private static void assertNumber(float read, int bits, int exponentBits, int mantissaBits) {
        int exponents = ((1 << exponentBits) - 1) << mantissaBits;
        if ((bits & exponents) != exponents) {
            float expected = (float) SmallFloatsTest.defined(bits, exponentBits, mantissaBits);
            assertThat(Float.floatToRawIntBits(read))
                    .as(Integer.toHexString(bits))
                    .isEqualTo(Float.floatToRawIntBits(expected));
        } else if ((bits & ((1 << mantissaBits) - 1)) == 0) {
            assertThat(read).isEqualTo(bits < 1 << 15 ? Float.POSITIVE_INFINITY : Float.NEGATIVE_INFINITY);
        } else {
            assertThat(read).isNaN();
        }
    }
}
