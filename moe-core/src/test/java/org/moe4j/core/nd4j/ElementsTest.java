package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.host.Sigmoid;
import org.moe4j.core.testing.Cases;

class ElementsTest {
    @Test
    void sigmoidHasExactLimits() {
        double[] x = {1e4, -1e4, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, 0};
        double[] y = new double[x.length];
        Sigmoid.approximate(x, y, x.length);
        assertThat(y).containsExactly(1, 0, 1, 0, Double.NaN, 0.5);
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "1, 200", "200, 1", "63, 65", "64, 64", "130, 67", "67, 130"})
    void transposeMovesEveryElement(int rows, int columns) {
        for (Elements elements : new Elements[] {new FloatElements(), new DoubleElements()}) {
            double[] values = new Cases(1).doubles(rows * columns);
            NativeBuffer a = NativeBuffer.allocate((long) rows * columns * elements.bytes(), false);
            NativeBuffer y = NativeBuffer.allocate((long) (rows + 3) * columns * elements.bytes(), true);
            elements.write(a.block(), 0, values, 0, values.length);
            elements.read(a.block(), 0, values, 0, values.length);
            elements.transpose(a.block(), 0, rows, columns, y.block(), 0, rows + 3);
            double[] turned = new double[(rows + 3) * columns];
            elements.read(y.block(), 0, turned, 0, turned.length);
            for (int c = 0; c < columns; c++) {
                for (int r = 0; r < rows + 3; r++) {
                    double expected = r < rows ? values[r * columns + c] : 0;
                    assertThat(turned[c * (rows + 3) + r]).isEqualTo(expected);
                }
            }
            a.release(false);
            y.release(false);
        }
    }
}
