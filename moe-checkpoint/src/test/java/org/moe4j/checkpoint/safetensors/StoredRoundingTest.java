package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.RowSource;

/** What storing makes of numbers, and what it says of that. */
class StoredRoundingTest {
    private final StoredRounding rounding = new StoredRounding();

    private ByteBuffer stored(ElementType type, double factor, double... values) {
        ByteBuffer into = ByteBuffer.allocate(values.length * type.bytes()).order(ByteOrder.LITTLE_ENDIAN);
        TensorContent.ofNumbers(
                        "x",
                        type,
                        List.of((long) values.length),
                        (from, to, at, count) -> System.arraycopy(values, (int) from, to, at, count),
                        factor,
                        rounding)
                .source()
                .write(0, values.length, into);
        return into.flip();
    }

    /** A tie of the {@code float} that the number itself is not. */
    @Test
    void numbersAreRoundedOnce() {
        double above = 1 + 0x1p-8 + 0x1p-40;
        double below = 1 + 0x1p-7 + 0x1p-8 - 0x1p-40;
        ByteBuffer bfloat = stored(ElementType.BF16, 1, above, below, -above, -below);
        assertThat(SmallFloats.bfloat16(bfloat.getShort())).isEqualTo(1 + 0x1p-7f);
        assertThat(SmallFloats.bfloat16(bfloat.getShort())).isEqualTo(1 + 0x1p-7f);
        assertThat(SmallFloats.bfloat16(bfloat.getShort())).isEqualTo(-1 - 0x1p-7f);
        assertThat(SmallFloats.bfloat16(bfloat.getShort())).isEqualTo(-1 - 0x1p-7f);
        ByteBuffer half = stored(ElementType.F16, 1, 1 + 0x1p-11 + 0x1p-40);
        assertThat(SmallFloats.float16(half.getShort())).isEqualTo(1 + 0x1p-10f);
    }

    @Test
    void rowsAreRoundedOnceToo() {
        double[] values = {1 + 0x1p-8 + 0x1p-40, 3};
        RowSource rows = new RowSource() {
            @Override
            public void read(int row, float[] into) {
                throw new IllegalStateException("floats are rounded already");
            }

            @Override
            public void read(int row, double[] into) {
                System.arraycopy(values, 0, into, 0, 2);
            }
        };
        ByteBuffer into = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
        TensorContent.of("x", ElementType.BF16, 1, 2, rows).source().write(0, 2, into);
        into.flip();
        assertThat(SmallFloats.bfloat16(into.getShort())).isEqualTo(1 + 0x1p-7f);
        assertThat(SmallFloats.bfloat16(into.getShort())).isEqualTo(3);
    }

    @Test
    void powersOfTwoChangeNothing() {
        ByteBuffer stored = stored(ElementType.BF16, 16, 1.5, -0.0, 0, 0x1p-20);
        assertThat(SmallFloats.bfloat16(stored.getShort())).isEqualTo(24);
        assertThat(stored.getShort()).isEqualTo((short) 0x8000);
        assertThat(rounding.numbers()).isEqualTo(4);
        assertThat(rounding.rounded()).isZero();
        assertThat(rounding.largest()).isZero();
    }

    @Test
    void theLargestChangeIsAPartOfItsNumber() {
        stored(ElementType.BF16, 1, 1, 1 + 0x1p-9, 2);
        assertThat(rounding.rounded()).isEqualTo(1);
        assertThat(rounding.largest()).isCloseTo(0x1p-9 / (1 + 0x1p-9), within(1e-17));
        stored(ElementType.F16, 1, 1e-9);
        assertThat(rounding.largest()).isEqualTo(1);
        assertThat(rounding).hasToString("2 of 4 numbers rounded, by at most 1.0");
    }

    /** 0.1 times 0.1 is no {@code double}, though the product that is stored is one. */
    @Test
    void aProductCanBeRoundedBeforeItIsStored() {
        ByteBuffer stored = stored(ElementType.F64, 0.1, 0.1, 8);
        assertThat(stored.getDouble()).isEqualTo(0.1 * 0.1);
        assertThat(rounding.rounded()).isEqualTo(1);
        assertThat(rounding.largest()).isBetween(1e-18, 0x1p-53);
    }

    @Test
    void whatDoesNotStayFiniteIsRefused() {
        assertThatThrownBy(() -> stored(ElementType.F16, 2, 1, 40_000))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("x: expected numbers that are finite as F16 times 2.0 but number 1 is 40000.0");
        assertThatThrownBy(() -> stored(ElementType.F32, 1, Double.NaN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("x: expected numbers that are finite as F32 but number 0 is NaN");
        assertThatThrownBy(
                        () -> TensorContent.ofNumbers("x", ElementType.I64, List.of(), (a, b, c, d) -> {}, 1, rounding))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("type: expected one of [F64, F32, F16, BF16] but was I64");
    }
}
