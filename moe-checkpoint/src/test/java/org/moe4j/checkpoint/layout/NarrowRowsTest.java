package org.moe4j.checkpoint.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rows wherever their elements stand, in both widths of numbers. */
class NarrowRowsTest {
    /** Value number i is {@code i + 2⁻³⁰}, which float has to round from 1 on. */
    private static final Values COUNT = (from, into, at, count) -> {
        for (int i = 0; i < count; i++) {
            into[at + i] = from + i + 0x1p-30;
        }
    };

    @ParameterizedTest
    @ValueSource(
            strings = {
                "[E, F, D]",
                "[E, D, F]",
                "[E, 2F.first, D]",
                "[E, 2F.second, D]",
                "[E, 2F.odd, D]",
                "[E, D, 2F.even]"
            })
    void elementsStandWhereTheAxesSay(String axes) {
        Sizes sizes = new Sizes(3, 5, 5, 130, 0);
        TensorPattern pattern = TensorPattern.parse("w " + axes);
        for (int e = 0; e < 3; e++) {
            int expert = e;
            PartSource rows = new PartSource(COUNT, pattern.strides(sizes, LayerPart.UP, e), 130, 5, "w");
            for (int f = 0; f < 130; f++) {
                int row = f;
                double[] expected = IntStream.range(0, 5)
                        .mapToDouble(d -> index(axes, expert, row, d) + 0x1p-30)
                        .toArray();
                double[] wide = new double[5];
                rows.read(f, wide);
                assertThat(wide).isEqualTo(expected);
                float[] narrow = new float[5];
                rows.read(f, narrow);
                for (int d = 0; d < 5; d++) {
                    assertThat(narrow[d]).isEqualTo((float) expected[d]);
                }
            }
        }
    }

    /** A backend asks from as many threads as it has, in any order. */
    @ParameterizedTest
    @ValueSource(strings = {"[E, F, D]", "[E, D, F]", "[E, D, 2F.even]"})
    void severalThreadsMayAskForRows(String axes) {
        Sizes sizes = new Sizes(1, 3000, 3000, 700, 0);
        TensorPattern pattern = TensorPattern.parse("w " + axes);
        for (int round = 0; round < 5; round++) {
            PartSource rows = new PartSource(COUNT, pattern.strides(sizes, LayerPart.UP, 0), 700, 3000, "w");
            long wrong = IntStream.range(0, 700)
                    .parallel()
                    .mapToLong(f -> {
                        double[] row = new double[3000];
                        rows.read(f, row);
                        return IntStream.range(0, 3000)
                                .filter(d -> row[d]
                                        != switch (axes) {
                                                    case "[E, F, D]" -> f * 3000L + d;
                                                    case "[E, D, F]" -> d * 700L + f;
                                                    default -> d * 1400L + 2L * f;
                                                }
                                                + 0x1p-30)
                                .count();
                    })
                    .sum();
            assertThat(wrong).isZero();
        }
    }

    /** Where element (f, d) of an expert stands, with 130 rows of 5. */
    private static long index(String axes, int e, int f, int d) {
        return switch (axes) {
            case "[E, F, D]" -> (e * 130 + f) * 5 + d;
            case "[E, D, F]" -> (e * 5 + d) * 130 + f;
            case "[E, 2F.first, D]" -> (e * 260 + f) * 5 + d;
            case "[E, 2F.second, D]" -> (e * 260 + 130 + f) * 5 + d;
            case "[E, 2F.odd, D]" -> (e * 260 + 2 * f + 1) * 5 + d;
            case "[E, D, 2F.even]" -> (e * 5 + d) * 260 + 2 * f;
            default -> throw new IllegalArgumentException(axes);
        };
    }

    @Test
    void aNumberThatIsNotFiniteIsNamedInBothWidths() {
        Values bad = (from, into, at, count) -> {
            for (int i = 0; i < count; i++) {
                into[at + i] = from + i == 7 ? Double.POSITIVE_INFINITY : 1;
            }
        };
        Sizes sizes = new Sizes(1, 5, 5, 4, 0);
        TensorPattern pattern = TensorPattern.parse("w [F, D]");
        PartSource rows = new PartSource(bad, pattern.strides(sizes, LayerPart.UP, 0), 4, 5, "folder: w");
        rows.read(0, new double[5]);
        String message = "folder: w: expected finite numbers but number 7 is Infinity";
        assertThatThrownBy(() -> rows.read(1, new double[5])).hasMessage(message);
        assertThatThrownBy(() -> rows.read(1, new float[5])).hasMessage(message);
    }
}
