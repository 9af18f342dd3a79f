package org.moe4j.core.dispatch;

/** The weights of the assignments that are kept. */
public enum KeptWeights {
    /**
     * As the router made them, so that a token with a dropped assignment has a smaller routed mass: Megatron-Core, MegaBlocks,
     * OLMo-core, Switch, flaxformer, V-MoE, GShard's legacy form.
     */
    UNCHANGED,
    /**
     * Divided by the sum of what the token kept, whether it lost any or not: {@code w'_j = w_j / Σ_kept w_r}. GShard's form without {@code
     * legacy_mtf_behavior} ({@code tensorflow/lingvo}, {@code lingvo/core/gshard_layers.py}, {@code Top2GatingOnLogits}), made for
     * weights that were not renormalised before. A sum of 0, or closer to it than 1e-290, divides nothing. A token that kept one
     * expert gives it weight 1, which teaches the router nothing.
     *
     * <p>Derivative: {@code dw_j = (dw'_j − Σ_kept dw'_r·w'_r) / Σ_kept w_r} where kept, 0 where dropped.
     */
    UNIT_SUM;

    /** Sums nearer to 0 divide nothing: the derivative would leave the range of double. */
    static final double SMALLEST_SUM = 1e-290;
}
