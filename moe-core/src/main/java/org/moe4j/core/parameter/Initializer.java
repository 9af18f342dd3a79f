package org.moe4j.core.parameter;

import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.NormalQuantile;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.SeededRows;

/**
 * How weights are drawn: independent normal numbers, each cut off at a number of standard deviations.
 *
 * <p>A number is {@code standardDeviation · Φ⁻¹(Φ(−c) + u·(Φ(c) − Φ(−c)))} with u uniform in (0, 1), by inversion of
 * the distribution function (docs/decisions/0007-inverse-cdf-normal.md). That has the same distribution as drawing anew until
 * the number lies within ±c standard deviations. Row i of a matrix has a random stream of its own, made from the seed and i:
 * the values depend on seed and position alone, not on backend, workers or JVM.
 *
 * @param standardDeviation of the normal before the cut, at least 0
 * @param cut c in standard deviations, more than 0; infinity for no cut
 */
public record Initializer(double standardDeviation, double cut) {
    /**
     * Checks the numbers.
     *
     * @param standardDeviation of the normal before the cut, at least 0
     * @param cut c in standard deviations, more than 0; infinity for no cut
     * @throws IllegalArgumentException for {@code standardDeviation} other than a finite number of at least 0 or {@code cut}
     *     other than a number above 0
     */
    public Initializer {
        if (!(standardDeviation >= 0) || Double.isInfinite(standardDeviation)) {
            throw Require.expected("standardDeviation", "a finite number of at least 0", standardDeviation);
        }
        if (!(cut > 0)) {
            throw Require.expected("cut", "a number above 0", cut);
        }
    }

    /**
     * A normal distribution without a cut.
     *
     * @param standardDeviation at least 0
     * @return the initializer
     */
    public static Initializer normal(double standardDeviation) {
        return new Initializer(standardDeviation, Double.POSITIVE_INFINITY);
    }

    /**
     * Draws a matrix.
     *
     * @param backend makes the matrix
     * @param rows at least 0
     * @param columns at least 0
     * @param seed of this matrix
     * @return (rows × columns)
     */
    public Matrix draw(Backend backend, int rows, int columns, long seed) {
        double low = NormalQuantile.distribution(-cut);
        double span = 1 - 2 * low;
        return backend.matrix(rows, columns, new RowSource() {
            @Override
            public void read(int row, float[] into) {
                SplittableRandom random = SeededRows.stream(seed, row);
                for (int i = 0; i < into.length; i++) {
                    into[i] = (float) next(random, low, span);
                }
            }

            @Override
            public void read(int row, double[] into) {
                SplittableRandom random = SeededRows.stream(seed, row);
                for (int i = 0; i < into.length; i++) {
                    into[i] = next(random, low, span);
                }
            }
        });
    }

    /** One number; rounding must not carry it beyond the cut. */
    private double next(SplittableRandom random, double low, double span) {
        double x = NormalQuantile.of(low + span * SeededRows.open(random));
        return standardDeviation * Math.max(-cut, Math.min(cut, x));
    }
}
