package org.moe4j.router;

import org.moe4j.core.internal.Require;

/**
 * How GShard's second expert is found, and whether a token keeps it. What is random acts under the noise seed of the
 * {@linkplain org.moe4j.core.layer.RoutingContext context} only; without one each of these is {@link All}.
 *
 * @see <a href="https://github.com/tensorflow/lingvo/blob/master/lingvo/core/gshard_layers.py">lingvo, {@code
 *     Top2GatingOnLogits}, {@code second_expert_policy}</a>
 */
public sealed interface SecondExpert {
    /** The second best of the choice scores, always. */
    record All() implements SecondExpert {}

    /**
     * The second best, kept when {@code U < w₂ / max(threshold, 1e-9)}, with U uniform in (0, 1) for each token and w₂ its
     * weight before the router's scale. The weight of the first stays what it was, so that with a renormalisation it does not
     * become 1 when the second is left out; what a token does not keep is not in its routing.
     *
     * <p>lingvo compares the renormalised weight in its older form (which is Mesh TensorFlow's) and the raw score in its newer one, which
     * renormalises after the capacity cut: that is {@link Renormalization.None} here, and a capacity that renormalises.
     *
     * @param threshold weights of at least this are always kept, at least 0; 0.2 in Mesh TensorFlow, 0 in lingvo, where
     *     every weight above 1e-9 is kept
     */
    record Random(double threshold) implements SecondExpert {
        /**
         * Checks the threshold.
         *
         * @param threshold a finite number of at least 0
         * @throws IllegalArgumentException for {@code threshold} other than a finite number of at least 0
         */
        public Random {
            if (!(threshold >= 0) || Double.isInfinite(threshold)) {
                throw Require.expected("threshold", "a finite number of at least 0", threshold);
            }
        }

        /** Whether a weight is kept. */
        boolean keeps(double weight, double uniform) {
            return uniform < weight / Math.max(threshold, 1e-9);
        }
    }

    /**
     * Drawn from the softmax of the logits of all other experts, whatever the score function: the largest of
     * {@code l_e + G_e} with {@code G = −ln(−ln U)}, standard Gumbel numbers for each token and expert.
     */
    record Sampled() implements SecondExpert {}
}
