package org.moe4j.merge.rewrite;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;

/**
 * How near one fixed down projection comes to the shared branch of a layer: with {@code H = [h_1 … h_n]} (T×Σm_j), the activations
 * inside all shared experts, and {@code Y = Σ_j c_j⊙E_j} (T×D), what the branch adds to the output,
 *
 * <pre>{@code residual = min_W ‖H·Wᵀ − Y‖_F / ‖Y‖_F}</pre>
 *
 * <p>With one coefficient for all tokens the residual is rounding: W is the down projections side by side, times the coefficient
 * (Equation 76 of the report on Olmo's MoE recipe). With coefficients that vary (Equation 78) no W gives Y; the residual is the share
 * of Y, as a norm, that is lost by the best one. One gate common to all experts (Equation 77) leaves a residual too: the gate stays
 * outside the wide expert, and no fixed W has it. With biases H has a column of ones, whose weights are the down bias.
 *
 * <p>Everything is computed in {@code double} from the weights as they are stored. The fit sees these T tokens only: with T no
 * larger than the number of columns it would be perfect whatever Y is, hence at least twice as many. A direction in which H is
 * smaller than about 1e-9 of its columns does not count.
 *
 * @param residual 0 (also where Y is 0) to 1
 * @param tokens T
 * @param units columns of H
 */
public record DownFit(double residual, int tokens, int units) {
    /**
     * Fits the shared branch of a layer, whose merge may be any convention. Takes about
     * {@code (8/3·units + 16·D)·T·units} operations with twice as many tokens as units: seconds for 1,280 units.
     *
     * @param layer with at least one shared expert; all of them {@link org.moe4j.core.expert.FeedForwardExperts} or
     *     {@link org.moe4j.core.expert.SwiGluExperts}
     * @param tokens (T×D) as the layer takes them, T at least twice the units
     * @return the best fit
     * @throws IllegalArgumentException for a branch that cannot be seen into, or tokens that do not fit, are too few or not
     *     finite
     * @throws ArithmeticException when an activation or a gate value is not finite
     */
    public static DownFit of(MoeLayer layer, Matrix tokens) {
        HiddenUnits units = HiddenUnits.of(layer, tokens);
        return new DownFit(
                LeastSquares.residual(units.hidden(), units.output()), tokens.rows(), units.hidden()[0].length);
    }

    @Override
    public String toString() {
        return "the best fixed down projection misses " + residual + " of the branch's norm (" + tokens + " tokens, "
                + units + " units)";
    }
}
