package org.moe4j.merge;

import org.moe4j.core.internal.Require;

/**
 * What the coefficients of a merge predict of its output at random initialization, against the dense block that has the
 * same active width (Section 21 of the report on Olmo's MoE recipe).
 *
 * <p>Presumes centred, independent branch outputs whose variance is proportional to their intermediate width. With
 * {@code d_act = K·d_r + d_s}:
 *
 * <ul>
 *   <li>{@code ā = (d_r·Σr + d_s·s) / d_act} (Equation 84),
 *   <li>{@code R_var = (d_r·Σr² + d_s·s²) / d_act} (Equation 85; with {@code r = α·p} Equation 86),
 *   <li>RMS ratio {@code √R_var}, and cosine to the dense output {@code ā/√R_var}, which follow from the same.
 * </ul>
 *
 * @param weightedMean ā, the width-weighted mean coefficient; 1 for a dense block
 * @param varianceRatio R_var, output variance over that of the dense block
 * @param rmsRatio {@code √R_var}
 * @param cosine of the angle to the dense output; 0 when the output vanishes
 */
public record MergeScale(double weightedMean, double varianceRatio, double rmsRatio, double cosine) {
    /** What a sum of squares may miss its bound by through rounding. */
    private static final double ROUNDING = 1e-9;

    /**
     * The prediction for one token's coefficients.
     *
     * @param widths K, d_r, d_s
     * @param r K coefficients of the routed experts
     * @param s coefficient of the shared branch
     * @return the prediction
     * @throws IllegalArgumentException for {@code r} with another number of coefficients
     */
    public static MergeScale of(ActiveWidths widths, double[] r, double s) {
        Require.count("r", r.length, widths.topK(), "coefficients (topK)");
        double sum = 0;
        double sumOfSquares = 0;
        for (double coefficient : r) {
            sum += coefficient;
            sumOfSquares += coefficient * coefficient;
        }
        return ofMoments(widths, sum, sumOfSquares, s);
    }

    /**
     * The prediction for moments of the routed coefficients, as their means over many tokens.
     *
     * @param widths K, d_r, d_s
     * @param sumR {@code Σr}, finite
     * @param sumRSquared {@code Σr²}, finite and at least 0
     * @param s coefficient of the shared branch, finite
     * @return the prediction
     * @throws IllegalArgumentException for a number that is not finite, or {@code sumRSquared} below 0
     */
    public static MergeScale ofMoments(ActiveWidths widths, double sumR, double sumRSquared, double s) {
        Require.finite("sumR", sumR);
        Require.finite("s", s);
        if (!(Require.finite("sumRSquared", sumRSquared) >= 0)) {
            throw Require.expected("sumRSquared", "at least 0", sumRSquared);
        }
        double mean = (widths.routedWidth() * sumR + widths.sharedWidth() * s) / widths.active();
        double variance = (widths.routedWidth() * sumRSquared + widths.sharedWidth() * s * s) / widths.active();
        double rms = Math.sqrt(variance);
        return new MergeScale(mean, variance, rms, rms == 0 ? 0 : mean / rms);
    }

    /**
     * The prediction for a convention on router weights that add up to 1: {@code Σr = α}, {@code Σr² = α²·Σp²}.
     *
     * @param convention gives α and s
     * @param widths K, d_r, d_s
     * @param sumPSquared {@code Σp²}, in 1/K (uniform) to 1 (one expert takes all)
     * @return the prediction
     * @throws IllegalArgumentException for Σp² outside 1/K..1, or widths that do not fit the convention
     */
    public static MergeScale of(ScaledMerge convention, ActiveWidths widths, double sumPSquared) {
        convention.presumption().requireWidths(convention, widths);
        double least = 1.0 / widths.topK();
        if (!(sumPSquared >= least * (1 - ROUNDING) && sumPSquared <= 1 + ROUNDING)) {
            throw Require.expected("sumPSquared", least + "..1 (1/topK..1)", sumPSquared);
        }
        double alpha = convention.routedScale();
        return ofMoments(widths, alpha, alpha * alpha * sumPSquared, convention.sharedScale());
    }
}
