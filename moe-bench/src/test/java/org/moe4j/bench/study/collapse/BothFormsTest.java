package org.moe4j.bench.study.collapse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.study.collapse.RoundingBound.UnitCoefficients;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;

/** Both forms beside Equations 74, 76 and 78 of the report on Olmo's MoE recipe, by loops on arrays. */
final class BothFormsTest {
    private static final Backend EXACT = ReferenceBackend.instance();
    private static final int D = 4;
    private static final int F = 6;
    private static final int T = 12;
    private static final List<Integer> WIDTHS = List.of(3, 2, 1);
    private static final List<Double> CONSTANTS = List.of(0.5, -2.0, 3.0);

    private static Matrix normal(int rows, int columns, long seed) {
        return Initializer.normal(1).draw(EXACT, rows, columns, seed);
    }

    /** {@code c_j(t) · E_j(x_t)} added up over the parts, unit by unit. */
    private static double[] sum(SwiGluWeights weights, Matrix tokens, UnitCoefficients coefficients) {
        double[] y = new double[T * D];
        for (int t = 0; t < T; t++) {
            for (int i = 0; i < F; i++) {
                double g = 0;
                double p = 0;
                for (int k = 0; k < D; k++) {
                    g += tokens.get(t, k) * weights.gate().get(i, k);
                    p += tokens.get(t, k) * weights.up().get(i, k);
                }
                for (int d = 0; d < D; d++) {
                    y[t * D + d] += coefficients.of(t, i)
                            * g
                            / (1 + Math.exp(-g))
                            * p
                            * weights.down().get(d, i);
                }
            }
        }
        return y;
    }

    private static UnitCoefficients of(int[] expert, List<Double> constants) {
        return new UnitCoefficients() {
            @Override
            public double of(int token, int unit) {
                return constants.get(expert[unit]);
            }

            @Override
            public double error(int token, int unit) {
                return 0;
            }
        };
    }

    @Test
    void constantsMultiplyOutputsOfThePartsAndGoIntoTheWideExpert() {
        try (SwiGluWeights weights = new SwiGluWeights(normal(F, D, 1), normal(F, D, 2), normal(D, F, 3));
                Matrix tokens = normal(T, D, 4);
                BothForms forms = new BothForms(weights, WIDTHS, tokens);
                Matrix parts = forms.weightedSum(CONSTANTS);
                Matrix wide = forms.wideWith(CONSTANTS)) {
            assertThat(forms.expertOfUnit()).containsExactly(0, 0, 0, 1, 1, 2);
            double[] expected = sum(weights, tokens, of(forms.expertOfUnit(), CONSTANTS));
            assertThat(parts.toArray()).containsExactly(expected, within(1e-12));
            assertThat(wide.toArray()).containsExactly(expected, within(1e-12));
            double[] plain = sum(weights, tokens, of(new int[F], List.of(1.0)));
            assertThat(forms.wide().toArray()).containsExactly(plain, within(1e-12));
            assertThat(forms.parts()).hasSize(3);
            assertThat(forms.costOfParts()).isEqualTo(new FunctionRow.Cost(3 * D * F, 2 * 3 * D * F, 3));
            assertThat(forms.costOfWide()).isEqualTo(new FunctionRow.Cost(3 * D * F, 2 * 3 * D * F, 1));
        }
    }

    /** Gates whose rows are zero are 1/2 for every token, which a down projection can have; others it cannot. */
    @Test
    void gatesThatDoNotVaryLeaveNoResidual() {
        try (SwiGluWeights weights = new SwiGluWeights(normal(F, D, 1), normal(F, D, 2), normal(D, F, 3));
                Matrix tokens = normal(T, D, 4);
                BothForms forms = new BothForms(weights, WIDTHS, tokens);
                Matrix zeros = EXACT.matrix(3, D, new double[3 * D]);
                Matrix gates = normal(3, D, 5)) {
            assertThat(forms.residual(zeros)).isLessThan(1e-12);
            assertThat(forms.residual(gates)).isGreaterThan(0.01);
        }
    }

    /** D = F = T = 1 by hand: x 1, gate 1, up 2, down 3, coefficient 5 with an error of 1e-9. */
    @Test
    void theBoundIsTheSumOfItsRoundings() {
        try (Matrix one = EXACT.matrix(1, 1, new double[] {1});
                SwiGluWeights weights = new SwiGluWeights(
                        one.share(), EXACT.matrix(1, 1, new double[] {2}), EXACT.matrix(1, 1, new double[] {3}))) {
            double hidden = 2 / (1 + Math.exp(-1));
            double bound = 2 * 3 * hidden * (5 * (2 + 4 + 4) * 0x1p-53 + 1e-9);
            UnitCoefficients five = new UnitCoefficients() {
                @Override
                public double of(int token, int unit) {
                    return -5;
                }

                @Override
                public double error(int token, int unit) {
                    return 1e-9;
                }
            };
            double share = new RoundingBound(weights, one).share(new double[] {-0.75 * bound}, five, 4);
            assertThat(share).isCloseTo(0.75, within(1e-12));
            assertThat(new RoundingBound(weights, one).share(new double[] {Double.NaN}, five, 4))
                    .isNaN();
        }
    }
}
