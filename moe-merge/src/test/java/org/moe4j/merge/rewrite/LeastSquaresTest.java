package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Known residuals: H mixes the first r of T orthonormal vectors (cosines), and Y has chosen parts of all of them, so that the best fit
 * has the first r parts and misses the others, however H mixes.
 */
class LeastSquaresTest {
    private static final int ROWS = 40;

    /** Number k of the orthonormal vectors of the discrete cosine transform. */
    private static double cosine(int k, int t) {
        double norm = Math.sqrt((k == 0 ? 1.0 : 2.0) / ROWS);
        return norm * Math.cos(Math.PI * (t + 0.5) * k / ROWS);
    }

    /** Σ_k cosine_k(t)·weights[k][i]: columns i that have the given parts. */
    private static double[][] columns(double[][] weights) {
        double[][] result = new double[ROWS][weights[0].length];
        for (int t = 0; t < ROWS; t++) {
            for (int i = 0; i < result[t].length; i++) {
                for (int k = 0; k < weights.length; k++) {
                    result[t][i] += cosine(k, t) * weights[k][i];
                }
            }
        }
        return result;
    }

    private static double[][] random(int rows, int columns, SplittableRandom random) {
        double[][] values = new double[rows][];
        for (int i = 0; i < rows; i++) {
            values[i] = random.doubles(columns, -1, 1).toArray();
        }
        return values;
    }

    /** The norm of the parts from number r on, over that of all. */
    private static double missed(double[][] parts, int from) {
        double all = 0;
        double behind = 0;
        for (int k = 0; k < parts.length; k++) {
            for (double part : parts[k]) {
                all += part * part;
                behind += k < from ? 0 : part * part;
            }
        }
        return Math.sqrt(behind / all);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void theFitMissesWhatIsOrthogonal(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int rank = 1 + random.nextInt(20);
        double[][] h = columns(random(rank, rank + random.nextInt(6), random)); // some columns depend on others
        double[][] parts = random(ROWS, 1 + random.nextInt(5), random);
        assertThat(LeastSquares.residual(h, columns(parts))).isCloseTo(missed(parts, rank), within(1e-12));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void whatIsInTheColumnsIsFittedWithinRounding(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int rank = 1 + random.nextInt(20);
        double[][] h = columns(random(rank, rank + random.nextInt(6), random));
        double[][] y = columns(random(rank, 3, random));
        assertThat(LeastSquares.residual(h, y)).isLessThan(1e-13);
    }

    @Test
    void zeroEqualAndDependentColumnsTakeNothing() {
        SplittableRandom random = new SplittableRandom(1);
        double[][] mix = random(6, 10, random);
        for (double[] row : mix) {
            row[0] = 0;
            row[3] = row[2];
            row[7] = 2 * row[4] - row[5];
            row[9] = -1e-3 * row[8];
        }
        double[][] parts = random(ROWS, 4, random);
        assertThat(LeastSquares.residual(columns(mix), columns(parts))).isCloseTo(missed(parts, 6), within(1e-12));
    }

    @Test
    void aColumnThatIsAllButDependentCounts() {
        double[][] mix = {{1, 1}, {0, 1e-4}};
        double[][] parts = new double[ROWS][1];
        parts[1][0] = 3;
        parts[2][0] = 4;
        assertThat(LeastSquares.residual(columns(mix), columns(parts))).isCloseTo(0.8, within(1e-9));
        mix[1][1] = 1e-13;
        assertThat(LeastSquares.residual(columns(mix), columns(parts))).isCloseTo(1, within(1e-6));
    }

    /** Singular value 7e-7: one solution over the ridge leaves 1.8e-6, and its refinement the square of that. */
    @Test
    void aDirectionOfLittleWeightIsFittedAllTheSame() {
        double[][] mix = {{1, 1}, {0, 1e-6}};
        double[][] parts = {{0}, {1}};
        assertThat(LeastSquares.residual(columns(mix), columns(parts))).isLessThan(1e-10);
    }

    @ParameterizedTest
    @ValueSource(doubles = {1e-200, 1e-9, 1e9, 1e200})
    void sizesOfColumnsAndOfTheWholeDoNotMatter(double scale) {
        SplittableRandom random = new SplittableRandom(2);
        double[][] h = columns(random(5, 5, random));
        double[][] parts = random(ROWS, 2, random);
        double[][] y = columns(parts);
        for (int t = 0; t < ROWS; t++) {
            h[t][2] *= scale;
            y[t][0] *= scale;
            y[t][1] *= scale;
        }
        assertThat(LeastSquares.residual(h, y)).isCloseTo(missed(parts, 5), within(1e-12));
    }

    /** The reciprocal of their largest number is infinite; what they are rounded to is seen as it is. */
    @Test
    void subnormalNumbersAreFittedLikeOthers() {
        double[][] h = {{1}, {1}, {1}, {1}};
        for (double unit : new double[] {Double.MIN_VALUE, 1e-312, Double.MIN_NORMAL / 8}) {
            assertThat(LeastSquares.residual(h, new double[][] {{unit}, {unit}, {unit}, {-unit}}))
                    .as("%s", unit)
                    .isCloseTo(Math.sqrt(0.75), within(1e-15));
        }
    }

    @Test
    void nothingIsLeftOfNothing() {
        assertThat(LeastSquares.residual(random(4, 2, new SplittableRandom(1)), new double[4][3]))
                .isZero();
    }

    @Test
    void columnsOfZeroFitNothing() {
        assertThat(LeastSquares.residual(new double[4][2], random(4, 3, new SplittableRandom(1))))
                .isEqualTo(1);
    }
}
