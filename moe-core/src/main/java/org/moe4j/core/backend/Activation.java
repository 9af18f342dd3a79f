package org.moe4j.core.backend;

import org.moe4j.core.internal.Require;

/**
 * What stands between the projections of an expert, as a value. {@code g} is an element of the gate projection and
 * {@code u} the same element of the up projection; {@code σ(x) = 1 / (1 + e^−x)}, Φ and φ are the distribution function
 * and the density of the standard normal distribution. The formulas are the definition; {@link Backend#activate} runs them.
 */
public sealed interface Activation {
    /**
     * Whether an expert has a gate projection beside up and down.
     *
     * @return true for {@link Gated}
     */
    default boolean gated() {
        return this instanceof Gated;
    }

    /** Two projections, gate and up: {@code h = a(g, u)}. */
    sealed interface Gated extends Activation {}

    /** One projection, up: {@code h = a(u)}. */
    sealed interface Plain extends Activation {}

    /**
     * {@code h = g · σ(g) · u}; {@code dh/du = g · σ(g)}, {@code dh/dg = u · σ(g) · (1 + g · (1 − σ(g)))}. Source: Shazeer,
     * GLU Variants Improve Transformer (2020).
     */
    record SwiGlu() implements Gated {}

    /**
     * {@code h = ĝ · σ(alpha · ĝ) · (û + offset)} with {@code ĝ = min(g, limit)} and {@code û = min(max(u, −limit), limit)}:
     * the gate is cut from above only, up on both sides. {@code dh/du = ĝ · σ(alpha · ĝ)} where |u| ≤ limit,
     * {@code dh/dg = (û + offset) · σ · (1 + alpha · ĝ · (1 − σ))} with {@code σ = σ(alpha · ĝ)} where g ≤ limit, and 0
     * elsewhere: at the limit itself the gradient passes.
     *
     * <p>gpt-oss has alpha 1.702, limit 7 and offset 1 ({@code swiglu} in {@code gpt_oss/torch/model.py} of
     * openai/gpt-oss); Megatron-Core's clamped GLU has alpha 1 and an offset of choice.
     *
     * @param alpha slope inside σ, positive and finite
     * @param limit where g and u are cut, positive; infinite for nowhere
     * @param offset added to û, finite
     */
    record ClampedSwiGlu(double alpha, double limit, double offset) implements Gated {
        /**
         * Checks the numbers.
         *
         * @param alpha slope inside σ, positive and finite
         * @param limit where g and u are cut, positive; infinite for nowhere
         * @param offset added to û, finite
         * @throws IllegalArgumentException for {@code alpha} other than a positive finite number, {@code limit} other than a
         *     positive number or {@code offset} that is not finite
         */
        public ClampedSwiGlu {
            if (!(alpha > 0) || Double.isInfinite(alpha)) {
                throw Require.expected("alpha", "a positive finite number", alpha);
            }
            if (!(limit > 0)) {
                throw Require.expected("limit", "a positive number", limit);
            }
            Require.finite("offset", offset);
        }
    }

    /** {@code h = u · σ(u)}; {@code dh/du = σ(u) · (1 + u · (1 − σ(u)))}. */
    record Silu() implements Plain {}

    /** {@code h = max(u, 0)}; {@code dh/du} is 1 for u &gt; 0 and 0 for u ≤ 0. Source: Switch Transformer, GShard. */
    record Relu() implements Plain {}

    /**
     * {@code h = max(u, 0)²}; {@code dh/du = 2 · max(u, 0)}. Source: So and others, Primer (2021); {@code relu2} of
     * Nemotron-H.
     */
    record ReluSquared() implements Plain {}

    /**
     * {@code h = u · Φ(u)}; {@code dh/du = Φ(u) + u · φ(u)}. Source: Hendrycks and Gimpel, Gaussian Error Linear Units
     * (2016).
     */
    record GeluExact() implements Plain {}

    /**
     * {@code h = u · σ(2z)} with {@code z = √(2/π) · (u + 0.044715 · u³)}, which is {@code ½ · u · (1 + tanh z)};
     * {@code dh/du = σ + u · σ · (1 − σ) · 2√(2/π) · (1 + 3 · 0.044715 · u²)} with {@code σ = σ(2z)}. Source: the
     * approximation in Hendrycks and Gimpel (2016).
     */
    record GeluTanh() implements Plain {}
}
