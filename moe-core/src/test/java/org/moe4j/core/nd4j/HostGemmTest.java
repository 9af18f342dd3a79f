package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.Tolerance;

/** Products in pieces, with and without kernels for small ones, beside loops. */
class HostGemmTest {
    private static final Elements ELEMENTS = new DoubleElements();

    static {
        Natives.load();
    }

    private static NativeBuffer filled(Lease lease, double[] values) {
        NativeBuffer buffer = lease.scratch((long) values.length * Double.BYTES);
        ELEMENTS.write(buffer.block(), 0, values, 0, values.length);
        return buffer;
    }

    private static double[] draw(SplittableRandom random, int count) {
        return random.doubles(count, -1, 1).toArray();
    }

    /** {@code x · w + x · w}, w given as it is or transposed. */
    private static double[] definition(int rows, int columns, int inner, boolean transposed, double[] x, double[] w) {
        double[] y = new double[rows * columns];
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < columns; c++) {
                for (int k = 0; k < inner; k++) {
                    y[r * columns + c] += 2 * x[r * inner + k] * w[transposed ? c * inner + k : k * columns + c];
                }
            }
        }
        return y;
    }

    @ParameterizedTest
    @CsvSource({
        "8, 40, 50",
        "9, 31, 1030",
        "16, 61, 70",
        "17, 50, 520",
        "33, 520, 40",
        "95, 7, 33",
        "96, 515, 65",
        "1, 1, 1"
    })
    void sumsOfProductsAreThoseOfLoops(int rows, int columns, int inner) {
        SplittableRandom random = new SplittableRandom(rows);
        double[] x = draw(random, rows * inner);
        double[] w = draw(random, inner * columns);
        for (boolean smallKernels : new boolean[] {true, false}) {
            for (boolean transposed : new boolean[] {true, false}) {
                double[] expected = definition(rows, columns, inner, transposed, x, w);
                double[] actual = new double[rows * columns];
                try (Lease lease = new Lease()) {
                    Operand left = Operand.of(filled(lease, x), 0, inner);
                    Operand right = new Operand(filled(lease, w), 0, transposed ? inner : columns, transposed);
                    Operand y = Operand.of(filled(lease, draw(random, rows * columns)), 0, columns);
                    HostGemm.Term term = new HostGemm.Term(inner, left, right);
                    new HostGemm(ELEMENTS, new DoubleBlas(), smallKernels)
                            .rowMajor(rows, columns, List.of(term, term), y);
                    ELEMENTS.read(y.buffer().block(), 0, actual, 0, actual.length);
                }
                assertThat(Tolerance.distance(actual, expected)).isLessThanOrEqualTo(4 * inner * inner * 0x1p-53);
            }
        }
    }
}
