package org.moe4j.bench.study.collapse;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.SwiGluWeights;

/**
 * How far two computations of {@code y_td = Σ_i c_i(t)·h_i(t)·W_di}, with the activations h of F hidden units, may lie apart when
 * both have the unit roundoff u and sum in another order, element by element.
 *
 * <p>A product of inner length F has an error of at most {@code 2·√F·u·Σ|terms|}, as on the page on numerics; every other operation
 * rounds once: the n additions of experts, and four for what coefficients and merge do. With an error δc of a coefficient that is
 * {@code Σ_i |h_i·W_di|·(|c_i|·(2√F + n + 4)·u + δc_i)} for each of the two. The activations themselves are taken as the same: their
 * operations are. So the bound is on the strict side.
 */
final class RoundingBound {
    private final double unit;
    private final int tokens;
    private final int hiddenSize;
    private final int width;
    private final double[] down;
    private final double[] hidden;

    RoundingBound(SwiGluWeights weights, Matrix tokens) {
        unit = tokens.backend().unitRoundoff();
        this.tokens = tokens.rows();
        hiddenSize = weights.hiddenSize();
        width = weights.intermediateSize();
        down = weights.down().toArray();
        hidden = hidden(tokens.toArray(), weights.gate().toArray(), weights.up().toArray());
    }

    /** Coefficients of units, and how far each of them may be off. */
    interface UnitCoefficients {
        double of(int token, int unit);

        double error(int token, int unit);
    }

    /** {@code |h|} (T×F). */
    private double[] hidden(double[] x, double[] gate, double[] up) {
        double[] sizes = new double[tokens * width];
        for (int t = 0; t < tokens; t++) {
            for (int i = 0; i < width; i++) {
                double g = dot(x, t * hiddenSize, gate, i * hiddenSize);
                double p = dot(x, t * hiddenSize, up, i * hiddenSize);
                sizes[t * width + i] = Math.abs(g / (1 + Math.exp(-g)) * p);
            }
        }
        return sizes;
    }

    private double dot(double[] a, int fromA, double[] b, int fromB) {
        double sum = 0;
        for (int k = 0; k < hiddenSize; k++) {
            sum += a[fromA + k] * b[fromB + k];
        }
        return sum;
    }

    /**
     * Largest share of the bound that a difference takes, over all elements.
     *
     * @param difference (T×D), row by row
     * @param coefficients c and δc
     * @param additions n
     */
    double share(double[] difference, UnitCoefficients coefficients, int additions) {
        double roundings = (2 * Math.sqrt(width) + additions + 4) * unit;
        double[] perUnit = new double[width];
        double most = 0;
        for (int t = 0; t < tokens; t++) {
            for (int i = 0; i < width; i++) {
                double off = Math.abs(coefficients.of(t, i)) * roundings + coefficients.error(t, i);
                perUnit[i] = off * hidden[t * width + i];
            }
            for (int d = 0; d < hiddenSize; d++) {
                double bound = 0;
                for (int i = 0; i < width; i++) {
                    bound += Math.abs(down[d * width + i]) * perUnit[i];
                }
                most = Math.max(most, Math.abs(difference[t * hiddenSize + d]) / (2 * bound)); // NaN stays
            }
        }
        return most;
    }
}
