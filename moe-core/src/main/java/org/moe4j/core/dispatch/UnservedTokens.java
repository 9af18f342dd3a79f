package org.moe4j.core.dispatch;

/**
 * What stands in the routed output of a token that no expert took: one whose assignments were all dropped, or that the
 * router sent nowhere. It is made before the merge, whose factor multiplies it like any routed output.
 */
public enum UnservedTokens {
    /** Zero, so that the model's residual connection carries the token on: all frameworks of today. */
    ZERO,
    /** The token itself: {@code R_t = x_t}. */
    PASSED,
    /**
     * The token times the sum of its routing weights, {@code R_t = (Σ_j w_tj) · x_t}, as if its experts were the identity; the
     * dropped weights then have gradients. The first versions of Switch in Transformers ({@code huggingface/transformers}, {@code
     * models/switch_transformers/modeling_switch_transformers.py}, {@code SwitchTransformersSparseMLP}): a copy of the hidden states,
     * overwritten where an expert took the token, and all of it times the router's probability. Later versions start from zeros.
     */
    PASSED_WEIGHTED
}
