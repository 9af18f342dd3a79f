package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.host.Sigmoid;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.PlainActivations;

class ElementsTest {
    /** Every 4099th of all float bit patterns, signs, subnormals and NaN included, against StrictMath in double. */
    @Test
    void silusAreWithinTwoUlp() {
        int count = 1 << 10;
        Nd4jBackend backend = Nd4jBackend.float32();
        float[] gate = new float[count];
        float[] ones = new float[count];
        Arrays.fill(ones, 1f);
        Matrix up = backend.matrix(1, count, ones);
        double worst = 0;
        for (long bits = 0; bits < 1L << 32; bits += 4099L * count) {
            for (int i = 0; i < count; i++) {
                gate[i] = Float.intBitsToFloat((int) (bits + 4099L * i));
            }
            try (Matrix g = backend.matrix(1, count, gate);
                    Matrix y = backend.activate(new Activation.SwiGlu(), Projections.of(g, up))) {
                double[] silu = y.toArray();
                for (int i = 0; i < count; i++) {
                    worst = Math.max(worst, ulps(gate[i], silu[i]));
                }
            }
        }
        assertThat(worst).isLessThanOrEqualTo(2);
    }

    private static double ulps(float gate, double actual) {
        double expected = gate * (1 / (1 + StrictMath.exp(-(double) gate)));
        if (Double.isNaN(expected) || Double.isInfinite(expected)) {
            assertThat(actual).as("silu(%s)", gate).isEqualTo(Double.valueOf(expected));
            return 0;
        }
        return Math.abs(actual - expected) / Math.ulp((float) expected);
    }

    /** Every 65,537th of all float bit patterns, against the definition in double. */
    @Test
    void activationsAreWithinTwoUlp() {
        int count = 1 << 10;
        Nd4jBackend backend = Nd4jBackend.float32();
        float[] ones = new float[count];
        Arrays.fill(ones, 1f);
        Matrix one = backend.matrix(1, count, ones);
        float[] values = new float[count];
        for (long bits = 0; bits < 1L << 32; bits += 65_537L * count) {
            for (int i = 0; i < count; i++) {
                values[i] = Float.intBitsToFloat((int) (bits + 65_537L * i));
            }
            Matrix x = backend.matrix(1, count, values);
            for (Activation activation : PlainActivations.ALL) {
                Projections projections = activation.gated() ? Projections.of(x, one) : Projections.of(x);
                double[] y = backend.activate(activation, projections).toArray();
                for (int i = 0; i < count; i++) {
                    double expected = activation.gated()
                            ? PlainActivations.value(activation, values[i], 1)
                            : PlainActivations.value(activation, 0, values[i]);
                    assertWithinTwoUlp(activation + " at " + values[i], y[i], expected, values[i]);
                }
            }
        }
    }

    private static void assertWithinTwoUlp(String what, double actual, double expected, float at) {
        if (Float.isNaN(at) || Double.isNaN(expected)) {
            assertThat(actual).as(what).isNaN();
        } else if (Float.isInfinite((float) expected)) {
            assertThat(actual).as(what).isEqualTo((double) (float) expected);
        } else {
            assertThat(Math.abs(actual - expected)).as(what).isLessThanOrEqualTo(2 * Math.ulp((float) expected));
        }
    }

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
