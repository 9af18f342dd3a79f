package org.moe4j.router.loss;

import java.util.List;
import org.moe4j.core.internal.Require;

/**
 * {@code coefficient · CV²(q)} with the squared coefficient of variation {@code CV²(q) = V/(m² + ε)}, m the mean and V the population
 * variance of a quantity q of each of the E experts, summed over the valid tokens. Balanced value 0, which is also the least; tokens
 * repeated change nothing. Where no quantity reaches 1e-290 it is 0, without gradient.
 *
 * <p>Gradient: {@code dq_e = coefficient · (2/E) · [(q_e − m)/(m² + ε) − V·m/(m² + ε)²]}, then as {@link Quantity} says.
 *
 * <p>Shazeer et al. add the importance and the load, each with a coefficient: two losses here. Ports of their code that
 * take the variance with E − 1 have values larger by E/(E − 1).
 *
 * @param name shown with its value
 * @param coefficient at least 0
 * @param quantity q
 * @param bySequence whether each sequence is a group of its own, and the loss the mean over them; sequences without valid tokens are left out
 * @param epsilon ε, at least 0
 */
public record VariationLoss(String name, double coefficient, Quantity quantity, boolean bySequence, double epsilon)
        implements RouterLoss {
    private static final double SHAZEER_EPSILON = 1e-10;

    /** What should be the same for all experts. */
    public enum Quantity {
        /** Importance: {@code Σ_t w_te}, the weights of the routing. The gradient goes through the weights. */
        WEIGHTS,
        /** Importance: {@code Σ_t softmax(c_t)_e} of the logits c before noise. */
        CLEAN_SOFTMAX,
        /**
         * Load: {@code Σ_t Φ((c_te − θ_te)/d_te)}, the probability that another draw of this expert's noise alone would have selected it. c are the
         * logits before noise, d its deviations, θ the (K+1)-th largest logit with noise for a selected expert and the K-th for
         * any other. Without noise, or with K = E, it is the number of tokens, without gradient.
         */
        LOAD,
        /** The same with the K-th largest logit as θ for all experts: for a selected one the probability is too small. */
        LOAD_ABOVE_LAST
    }

    /**
     * Checks the numbers.
     *
     * @param name shown with its value
     * @param coefficient at least 0
     * @param quantity q
     * @param bySequence whether each sequence is a group of its own
     * @param epsilon ε, at least 0
     * @throws IllegalArgumentException for {@code epsilon} other than a finite number of at least 0
     */
    public VariationLoss {
        TokenGroups.coefficient(coefficient);
        if (!(epsilon >= 0) || Double.isInfinite(epsilon)) {
            throw Require.expected("epsilon", "a finite number of at least 0", epsilon);
        }
    }

    /**
     * CV² of the weights, ε = 1e-10.
     *
     * @param coefficient at least 0
     * @return the importance loss of Shazeer et al. 2017 (arXiv:1701.06538, Equations 6 and 7; {@code tensorflow/tensor2tensor},
     *     {@code utils/expert_utils.py})
     */
    public static VariationLoss shazeerImportance(double coefficient) {
        return new VariationLoss("shazeer-importance", coefficient, Quantity.WEIGHTS, false, SHAZEER_EPSILON);
    }

    /**
     * CV² of the load, ε = 1e-10.
     *
     * @param coefficient at least 0
     * @return the load loss of Shazeer et al. 2017 (Appendix A; {@code _prob_in_top_k} in the same file)
     */
    public static VariationLoss shazeerLoad(double coefficient) {
        return new VariationLoss("shazeer-load", coefficient, Quantity.LOAD, false, SHAZEER_EPSILON);
    }

    /**
     * CV² of softmax scores before noise, per sequence.
     *
     * @param coefficient at least 0
     * @return the importance loss of V-MoE (Riquelme et al. 2021, Appendix A.2; {@code google-research/vmoe}, {@code vmoe/nn/routing.py})
     */
    public static VariationLoss vMoeImportance(double coefficient) {
        return new VariationLoss("v-moe-importance", coefficient, Quantity.CLEAN_SOFTMAX, true, 0);
    }

    /**
     * CV² of the load above the last selected, per sequence.
     *
     * @param coefficient at least 0
     * @return the load loss of V-MoE (the same file)
     */
    public static VariationLoss vMoeLoad(double coefficient) {
        return new VariationLoss("v-moe-load", coefficient, Quantity.LOAD_ABOVE_LAST, true, 0);
    }

    @Override
    public double value(List<? extends RoutedTokens> layers) {
        double value = 0;
        for (RoutedTokens layer : layers) {
            value += new Variation(this, layer).value();
        }
        return value;
    }

    @Override
    public void addGradients(List<? extends RoutedTokens> layers, List<LogitGradients> into) {
        TokenGroups.requireOnePerLayer(into, layers);
        for (int i = 0; i < layers.size(); i++) {
            new Variation(this, layers.get(i)).addGradients(into.get(i));
        }
    }
}
