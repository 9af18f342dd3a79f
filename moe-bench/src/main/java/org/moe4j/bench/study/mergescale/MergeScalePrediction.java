package org.moe4j.bench.study.mergescale;

import java.util.function.DoubleUnaryOperator;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.MergeScale;
import org.moe4j.merge.ScaledMerge;

/**
 * What the report's assumptions (centred, independent branches whose variance is proportional to their width) say of the
 * measured quantities: Equations 84 to 86, and what follows from the same assumptions.
 *
 * @param widths K and the two widths
 * @param gateVariance s², the variance of a gate's pre-activation: D times that of a weight, for tokens of variance one
 * @param sumPSquared mean of {@code Σ p²}
 */
record MergeScalePrediction(ActiveWidths widths, double gateVariance, double sumPSquared) {
    private static final double FAR = 10;
    private static final int CELLS = 4000;

    /** For a layer of the study. */
    static MergeScalePrediction of(ActiveWidths widths, int hiddenSize, double sumPSquared) {
        double deviation = SeededLayer.standardDeviation(hiddenSize);
        return new MergeScalePrediction(
                widths, hiddenSize * deviation * deviation * varianceAfterCut(SeededLayer.CUT), sumPSquared);
    }

    double of(Quantity quantity, ScaledMerge merge) {
        return switch (quantity) {
            case OUTPUT_RMS, INPUT_GRAD_RMS_FIXED -> scale(merge).rmsRatio();
            case INPUT_GRAD_RMS_ROUTER -> Math.sqrt(scale(merge).varianceRatio() + throughRouter(merge));
            case ROUTED_DOWN_GRAD_RMS -> merge.routedScale() / widths.topK();
            case SHARED_DOWN_GRAD_RMS -> merge.sharedScale();
            case COSINE -> scale(merge).cosine();
            default -> throw new IllegalArgumentException(quantity + ": expected a quantity of a convention");
        };
    }

    /** Of a quantity without a convention; NaN where nothing is predicted. */
    double of(Quantity quantity) {
        return switch (quantity) {
            case BRANCH_RMS_RATIO -> Math.sqrt((double) widths.sharedWidth() / widths.routedWidth());
            // Olmo's coefficients have mean square K·Σp², the dense ones 1
            case DENSE_ROUTED_DOWN_GRAD -> 1 / Math.sqrt(widths.topK() * sumPSquared);
            case DENSE_SHARED_DOWN_GRAD -> 1;
            default -> Double.NaN;
        };
    }

    private MergeScale scale(ScaledMerge merge) {
        return MergeScale.of(merge, widths, sumPSquared);
    }

    /**
     * What the gradient through the router adds to the variance ratio of the input gradient:
     * {@code (α/K)²·(K−1)·(d_r/d_act)·s²E₀/(s²E₁ + E₀)} with {@code E₀ = E[silu(g)²]}, {@code E₁ = E[silu′(g)²]} for
     * {@code g ~ N(0, s²)}.
     */
    private double throughRouter(ScaledMerge merge) {
        double s = Math.sqrt(gateVariance);
        double e0 = gaussianMean(t -> square(silu(s * t)), FAR);
        double e1 = gaussianMean(t -> square(siluSlope(s * t)), FAR);
        double coefficient = merge.routedScale() / widths.topK();
        double width = (double) widths.routedWidth() / widths.active();
        return square(coefficient) * (widths.topK() - 1) * width * gateVariance * e0 / (gateVariance * e1 + e0);
    }

    /** Variance of a standard normal cut off at ±cut. */
    static double varianceAfterCut(double cut) {
        return gaussianMean(t -> t * t, cut);
    }

    /** Mean of f over a standard normal within ±range, by Simpson's rule. */
    private static double gaussianMean(DoubleUnaryOperator f, double range) {
        double sum = 0;
        double mass = 0;
        for (int i = 0; i <= CELLS; i++) {
            double t = range * (2.0 * i / CELLS - 1);
            double weight = (i == 0 || i == CELLS ? 1 : i % 2 == 1 ? 4 : 2) * Math.exp(-t * t / 2);
            sum += weight * f.applyAsDouble(t);
            mass += weight;
        }
        return sum / mass;
    }

    private static double silu(double g) {
        return g / (1 + Math.exp(-g));
    }

    private static double siluSlope(double g) {
        double sigma = 1 / (1 + Math.exp(-g));
        return sigma * (1 + g * (1 - sigma));
    }

    private static double square(double x) {
        return x * x;
    }
}
