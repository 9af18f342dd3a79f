package org.moe4j.router.loss;

import java.util.List;
import java.util.OptionalDouble;
import org.moe4j.router.loss.Grouping.Layers;
import org.moe4j.router.loss.Grouping.Length;
import org.moe4j.router.loss.Grouping.Scope;

/**
 * Counts times scores: {@code coefficient · E/κ · Σ_e f_e · P_e}, small when the experts that are chosen often have small scores.
 * {@code f_e = c_e/n} is how often expert e is counted, {@code P_e = U_e/n} the mean of its scores, both over the n valid tokens of a
 * group; κ is K or 1. Several groups and layers become one number as the {@link Grouping} says.
 *
 * <p>Every published form is a choice of {@link Counts}, {@link Scores}, {@link Grouping} and κ. When all
 * experts are counted alike and have the same mean score, and scores add up to 1, the value is the coefficient if κ is K or only the first
 * choice is counted, and K times the coefficient otherwise. That is not the least value: of experts that are chosen alike one may still have
 * smaller scores.
 *
 * <p>Gradient: counts are constant, so {@code du_te = coefficient · E/κ · w · c_e} with w the weight of the group ({@code 1/n²}, if
 * there is one), then through the scores. The counts are whole numbers and made anew from the passes at hand: nothing is kept between calls.
 *
 * @param name shown with its value
 * @param coefficient at least 0
 * @param counts c
 * @param scores u
 * @param grouping over which tokens means are taken
 * @param perChoice whether κ is K, experts per token as the router was made, and not 1
 * @param divisor above 0, in place of one of the two n: the tokens of the whole step, where a trainer adds up parts of it
 */
public record LoadBalancingLoss(
        String name,
        double coefficient,
        Counts counts,
        Scores scores,
        Grouping grouping,
        boolean perChoice,
        OptionalDouble divisor)
        implements RouterLoss {
    /**
     * Checks the numbers.
     *
     * @param name shown with its value
     * @param coefficient at least 0
     * @param counts c
     * @param scores u
     * @param grouping over which tokens means are taken
     * @param perChoice whether κ is K and not 1
     * @param divisor above 0, in place of one of the two n
     */
    public LoadBalancingLoss {
        TokenGroups.coefficient(coefficient);
        ZLoss.requireDivisor(divisor);
    }

    private static LoadBalancingLoss of(
            String name, double coefficient, Counts counts, Scores scores, Scope scope, boolean perChoice) {
        return new LoadBalancingLoss(
                name, coefficient, counts, scores, new Grouping(scope), perChoice, OptionalDouble.empty());
    }

    /**
     * {@code E² · mean_e f_e P_e}, f of the first choice, the mean over groups of tokens, which are the sequences; balanced value 1.
     *
     * @param coefficient at least 0
     * @return Switch Transformer's (Fedus et al. 2021, Equation 4; Transformers {@code modeling_switch_transformers.py}) and V-MoE's GShard
     *     loss ({@code google-research/vmoe}, {@code vmoe/nn/routing.py})
     */
    public static LoadBalancingLoss switchTransformer(double coefficient) {
        return of("switch", coefficient, Counts.FIRST_CHOICE, Scores.ROUTER, Scope.SEQUENCES, false);
    }

    /**
     * The same with all rows as n, padded ones too.
     *
     * @param coefficient at least 0
     * @return GShard's in {@code tensorflow/mesh}, {@code mesh_tensorflow/transformer/moe.py}; without padding Switch's there too, which takes
     *     the means before it masks
     */
    public static LoadBalancingLoss meshTensorFlow(double coefficient) {
        return switchTransformer(coefficient)
                .named("mesh-tensorflow")
                .withGrouping(new Grouping(Scope.SEQUENCES).withLength(Length.ALL));
    }

    /**
     * The same with n as the valid rows and a millionth of all rows.
     *
     * @param coefficient at least 0
     * @return GShard's in {@code tensorflow/lingvo}, {@code lingvo/core/gshard_layers.py}, with paddings and not legacy
     */
    public static LoadBalancingLoss lingvo(double coefficient) {
        return switchTransformer(coefficient)
                .named("lingvo")
                .withGrouping(new Grouping(Scope.SEQUENCES).withLength(Length.VALID_AND_A_MILLIONTH));
    }

    /**
     * {@code E · Σ_e f_e P_e}, f of all K choices, n all rows, padded ones too, the mean over groups of tokens, which are the sequences; balanced value K
     * without padding.
     *
     * @param coefficient at least 0
     * @return {@code google/flaxformer}, {@code flaxformer/architectures/moe/routing.py}, its masked router where {@code ignore_padding_tokens}
     */
    public static LoadBalancingLoss flaxformer(double coefficient) {
        return of("flaxformer", coefficient, Counts.CHOSEN, Scores.ROUTER, Scope.SEQUENCES, false)
                .withGrouping(new Grouping(Scope.SEQUENCES).withLength(Length.ALL));
    }

    /**
     * {@code E · Σ_e f_e P_e} over the tokens of all layers at once, u being softmax of the logits whatever the router's scores are, and f of a
     * top-K of u; balanced value K.
     *
     * @param coefficient at least 0
     * @return {@code load_balancing_loss_func} of Transformers ({@code models/mixtral/modeling_mixtral.py})
     */
    public static LoadBalancingLoss transformers(double coefficient) {
        return of("transformers", coefficient, Counts.FRESH, Scores.SOFTMAX_OF_LOGITS, Scope.BATCH, false)
                .withGrouping(new Grouping(Scope.BATCH).withLayers(Layers.POOLED));
    }

    /**
     * {@code E/K · Σ_e f_e P_e}, u being scores divided by their sum and 1e-20, and f of a top-K of u, without bias and groups; balanced value 1.
     *
     * @param coefficient at least 0
     * @return {@code aux_loss} of Megatron-Core ({@code moe_utils.py}, {@code switch_load_balancing_loss_func})
     */
    public static LoadBalancingLoss megatron(double coefficient) {
        return of("megatron", coefficient, Counts.FRESH, Scores.NORMALIZED_WITH_EPSILON, Scope.BATCH, true);
    }

    /**
     * The same per sequence, with n as the mean length of the sequences; balanced value 1 if they are of one length.
     *
     * @param coefficient at least 0
     * @return {@code seq_aux_loss} of Megatron-Core ({@code router.py})
     */
    public static LoadBalancingLoss megatronSequence(double coefficient) {
        return megatron(coefficient)
                .named("megatron-sequence")
                .withGrouping(new Grouping(Scope.SEQUENCES_OF_MEAN_LENGTH));
    }

    /**
     * {@code E/K · Σ_e f_e P_e}, f of the routing, u being scores divided by their sum; balanced value 1.
     *
     * @param coefficient at least 0
     * @return {@code local_batch} of OLMo-core ({@code nn/moe/loss.py}); its {@code loss_div_factor} is the divisor
     */
    public static LoadBalancingLoss olmoCore(double coefficient) {
        return of("olmo-core", coefficient, Counts.CHOSEN, Scores.NORMALIZED, Scope.BATCH, true);
    }

    /**
     * The same per sequence, weighted by their tokens; balanced value 1.
     *
     * @param coefficient at least 0
     * @return {@code instance} of OLMo-core ({@code nn/moe/loss.py})
     */
    public static LoadBalancingLoss olmoCoreInstance(double coefficient) {
        return olmoCore(coefficient).named("olmo-core-instance").withGrouping(new Grouping(Scope.SEQUENCES_BY_LENGTH));
    }

    /**
     * {@code E/K · Σ_e f_e P_e} of each layer, f of the routing, and the mean over the layers; balanced value 1.
     *
     * @param coefficient at least 0
     * @return {@code databricks/megablocks}, {@code megablocks/layers/moe.py}, {@code batched_load_balancing_loss}
     */
    public static LoadBalancingLoss megaBlocks(double coefficient) {
        return of("megablocks", coefficient, Counts.CHOSEN, Scores.ROUTER, Scope.BATCH, true)
                .withGrouping(new Grouping(Scope.BATCH).withLayers(Layers.MEAN));
    }

    /**
     * {@code E/K · Σ_e f_e P_e}, f of the routing, u the scores as they are, sigmoids too; balanced value 1 for softmax.
     *
     * @param coefficient at least 0
     * @return DeepSeek's models as published in Transformers' form ({@code deepseek-ai/DeepSeek-VL2}, {@code modeling_deepseek.py}), without
     *     {@code seq_aux}
     */
    public static LoadBalancingLoss deepSeekBatch(double coefficient) {
        return of("deepseek-batch", coefficient, Counts.CHOSEN, Scores.ROUTER, Scope.BATCH, true);
    }

    /**
     * The same per sequence; the mean over the sequences.
     *
     * @param coefficient at least 0
     * @return the same file with {@code seq_aux}
     */
    public static LoadBalancingLoss deepSeekSequence(double coefficient) {
        return deepSeekBatch(coefficient).named("deepseek-sequence").withGrouping(new Grouping(Scope.SEQUENCES));
    }

    /**
     * {@code E/K · Σ_e f_e P_e} per sequence, u being scores divided by their sum, and f of a top-K of u, without bias and groups; the mean over the
     * sequences; balanced value 1.
     *
     * @param coefficient at least 0
     * @return the complementary sequence-wise loss of DeepSeek-V3's report (arXiv:2412.19437, Equations 17 to 20)
     */
    public static LoadBalancingLoss deepSeekV3(double coefficient) {
        return of("deepseek-v3", coefficient, Counts.FRESH, Scores.NORMALIZED, Scope.SEQUENCES, true);
    }

    /**
     * The same under another name.
     *
     * @param other shown with its value
     * @return a changed copy
     */
    public LoadBalancingLoss named(String other) {
        return new LoadBalancingLoss(other, coefficient, counts, scores, grouping, perChoice, divisor);
    }

    /**
     * The same with other counts.
     *
     * @param other c
     * @return a changed copy
     */
    public LoadBalancingLoss withCounts(Counts other) {
        return new LoadBalancingLoss(name, coefficient, other, scores, grouping, perChoice, divisor);
    }

    /**
     * The same with other scores.
     *
     * @param other u
     * @return a changed copy
     */
    public LoadBalancingLoss withScores(Scores other) {
        return new LoadBalancingLoss(name, coefficient, counts, other, grouping, perChoice, divisor);
    }

    /**
     * The same with another grouping.
     *
     * @param other over which tokens means are taken
     * @return a changed copy
     */
    public LoadBalancingLoss withGrouping(Grouping other) {
        return new LoadBalancingLoss(name, coefficient, counts, scores, other, perChoice, divisor);
    }

    /**
     * The same with a divisor in place of one of the two n.
     *
     * @param other above 0, as the tokens of a whole step
     * @return a changed copy
     */
    public LoadBalancingLoss withDivisor(double other) {
        return new LoadBalancingLoss(name, coefficient, counts, scores, grouping, perChoice, OptionalDouble.of(other));
    }

    @Override
    public double value(List<? extends RoutedTokens> passes) {
        return new Balance(this, passes).value();
    }

    @Override
    public void addGradients(List<? extends RoutedTokens> passes, List<LogitGradients> into) {
        TokenGroups.requireOnePerLayer(into, passes);
        new Balance(this, passes).addGradients(into);
    }
}
