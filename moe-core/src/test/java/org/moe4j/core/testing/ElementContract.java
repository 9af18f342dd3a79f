package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend.GateUp;
import org.moe4j.core.backend.Matrix;

/** The kernels that work element by element, each against its formula. */
public abstract class ElementContract extends KernelContract {
    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void multiplyIsOneProductPerElement(long seed) {
        Cases cases = new Cases(seed);
        for (int columns : Cases.SIZES) {
            int rows = cases.size();
            Matrix a = cases.matrix(backend(), rows, columns);
            Matrix b = cases.matrix(backend(), rows, columns);
            double[] x = a.toArray();
            double[] y = b.toArray();
            double[] expected = new double[x.length];
            double[] tolerances = new double[x.length];
            for (int i = 0; i < x.length; i++) {
                expected[i] = x[i] * y[i];
                tolerances[i] = Tolerance.roundings(1, u(), expected[i]) * 1.01; // the definition rounds once more
            }
            Matrix product = backend().multiply(a, b);
            assertThat(product.rows()).isEqualTo(rows);
            assertThat(product.columns()).isEqualTo(columns);
            Tolerance.assertWithin("multiply", product.toArray(), expected, tolerances);
        }
    }

    @Test
    void multiplyKeepsSignsOfZeroAndSpreadsNaN() {
        double inf = Double.POSITIVE_INFINITY;
        Matrix a = backend().matrix(1, 6, new double[] {0, -3, inf, inf, Double.NaN, -0.0});
        Matrix b = backend().matrix(1, 6, new double[] {-1, 2, -1, 0, 0, -2});
        assertThat(backend().multiply(a, b).toArray()).containsExactly(-0.0, -6, -inf, Double.NaN, Double.NaN, 0);
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void swiGluAndItsAdjointFollowTheFormula(long seed) {
        Cases cases = new Cases(seed);
        for (int columns : Cases.SIZES) {
            int rows = cases.size();
            double[] wide = cases.doubles(rows * columns);
            Arrays.setAll(wide, i -> 8 * wide[i]);
            Matrix gate = backend().matrix(rows, columns, wide);
            Matrix up = cases.matrix(backend(), rows, columns);
            Matrix d = cases.matrix(backend(), rows, columns);
            GateUp gradients = backend().swiGluBackward(gate, up, d);
            double[][] actual = {
                backend().swiGlu(gate, up).toArray(),
                gradients.gate().toArray(),
                gradients.up().toArray()
            };
            double[] g = gate.toArray();
            double[] v = up.toArray();
            double[] w = d.toArray();
            for (int i = 0; i < g.length; i++) {
                double s = 1 / (1 + StrictMath.exp(-g[i]));
                assertNear(actual[0][i], g[i] * s * v[i], 8, g[i] * s * v[i]);
                assertNear(
                        actual[1][i],
                        w[i] * v[i] * s * (1 + g[i] * (1 - s)),
                        12,
                        w[i] * v[i] * s * (1 + Math.abs(g[i])));
                assertNear(actual[2][i], w[i] * g[i] * s, 8, w[i] * g[i] * s);
            }
        }
    }

    private void assertNear(double actual, double expected, int roundings, double gauge) {
        Tolerance.assertWithin("element", new double[] {actual}, new double[] {expected}, new double[] {
            Tolerance.roundings(roundings, u(), gauge)
        });
    }

    @Test
    void swiGluHasTheRightLimits() {
        double[] gate = {1e4, -1e4, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, 0};
        Matrix up = backend().matrix(1, 6, new double[] {2, 2, 2, 2, 2, 2});
        double[] y = backend().swiGlu(backend().matrix(1, 6, gate), up).toArray();
        // minus infinity times an exact zero is not a number, here as in the definition
        assertThat(y).containsExactly(2e4, -0.0, Double.POSITIVE_INFINITY, Double.NaN, Double.NaN, 0);
    }
}
