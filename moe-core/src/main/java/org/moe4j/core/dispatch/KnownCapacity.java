package org.moe4j.core.dispatch;

import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.dispatch.Capacity.Rounding;
import org.moe4j.core.dispatch.RowLimit.EvenShare;
import org.moe4j.core.dispatch.RowLimit.ZeroRows;

/** The rules of known frameworks, put together from their parts; the constants are the frameworks' own. */
public final class KnownCapacity {
    private KnownCapacity() {}

    /**
     * Megatron-Core: {@code ceil(T·K / E · f)} of the batch, the largest weights are kept ({@code NVIDIA/Megatron-LM}, {@code
     * megatron/core/transformer/moe/moe_utils.py}, {@code get_capacity} and {@code apply_router_token_dropping} with drop policy
     * {@code probs}; the policy {@code position} is {@link DropOrder#POSITION}).
     *
     * @param factor of the even share
     * @return the rule
     */
    public static Limited megatronCore(double factor) {
        return Capacity.of(RowLimit.factor(factor)).withOrder(DropOrder.WEIGHT);
    }

    /**
     * MegaBlocks' layer with a capacity: {@code floor(f · (K·T / E))} of the batch, 0 stands for the largest count, the first are
     * kept ({@code databricks/megablocks}, {@code megablocks/layers/moe.py}, {@code expert_capacity} and {@code forward_once}; without
     * expert parallelism).
     *
     * @param factor of the even share
     * @return the rule
     */
    public static Limited megaBlocks(double factor) {
        return Capacity.factor(factor, Rounding.DOWN);
    }

    /**
     * OLMo-core's layer with a capacity: {@code floor(f · (K·T / E))} of the batch, rounded up to a multiple of 8, the first are
     * kept; 0 leaves nothing ({@code allenai/OLMo-core}, {@code src/olmo_core/nn/moe/parallel_mlp.py}, {@code expert_capacity};
     * without expert parallelism).
     *
     * @param factor of the even share
     * @return the rule
     */
    public static Limited olmoCore(double factor) {
        return Capacity.of(RowLimit.factor(factor)
                .withRounding(Rounding.DOWN)
                .withMultipleOf(8)
                .withZeroRows(ZeroRows.NO_ROWS));
    }

    /**
     * Switch in Mesh TensorFlow: {@code max(floor(S·f / E), 4)} of groups of S tokens, the first are kept ({@code
     * tensorflow/mesh}, {@code mesh_tensorflow/transformer/moe.py}). The weight is the probability, not renormalised.
     *
     * @param factor of the even share of tokens
     * @param groupSize S
     * @return the rule
     */
    public static Limited switchTransformer(double factor, int groupSize) {
        return Capacity.of(ofTokens(factor).withRounding(Rounding.DOWN).withMinimum(4))
                .withScope(CapacityScope.groups(groupSize));
    }

    /**
     * GShard: {@code floor(S·f / E)} of groups of S tokens, at least 4 and else rounded up to a multiple of 4, first choices
     * before second ones ({@code tensorflow/lingvo}, {@code lingvo/core/gshard_layers.py}, {@code Top2GatingOnLogits}; a larger given
     * capacity is {@link RowLimit.OfShare#withMinimum}, the form without {@code legacy_mtf_behavior} {@link KeptWeights#UNIT_SUM}).
     *
     * @param factor of the even share of tokens
     * @param groupSize S
     * @return the rule
     */
    public static Limited gShard(double factor, int groupSize) {
        return Capacity.of(ofTokens(factor)
                        .withRounding(Rounding.DOWN)
                        .withMinimum(4)
                        .withMultipleOf(4))
                .withScope(CapacityScope.groups(groupSize))
                .withOrder(DropOrder.CHOICE);
    }

    /**
     * flaxformer where tokens choose: {@code max(round(f·S / E), 4)} of groups of S tokens, halves to even, first choices before
     * second ones ({@code google/flaxformer}, {@code flaxformer/architectures/moe/moe_layers.py} and {@code routing.py}; with {@code
     * batch_prioritized_routing} the order is {@link DropOrder#BATCH_PRIORITY}).
     *
     * @param factor of the even share of tokens
     * @param groupSize S
     * @return the rule
     */
    public static Limited flaxformer(double factor, int groupSize) {
        return Capacity.of(ofTokens(factor).withRounding(Rounding.HALF_EVEN).withMinimum(4))
                .withScope(CapacityScope.groups(groupSize))
                .withOrder(DropOrder.CHOICE);
    }

    /**
     * V-MoE: {@code ceil(S·K·f / E)} of groups of S tokens, rounded up to a multiple of 4, first choices before second ones
     * ({@code google-research/vmoe}, {@code vmoe/moe.py}, {@code compute_capacity} and {@code get_top_experts_per_item_dispatcher}; its
     * option {@code round} is {@link Rounding#HALF_EVEN}, where 0 is an error; {@code batch_priority} is {@link
     * DropOrder#BATCH_PRIORITY}).
     *
     * @param factor of the even share
     * @param groupSize S
     * @return the rule
     */
    public static Limited vMoe(double factor, int groupSize) {
        return Capacity.of(RowLimit.factor(factor)
                        .withShare(EvenShare.ASSIGNMENTS_FACTOR_FIRST)
                        .withMultipleOf(4)
                        .withZeroRows(ZeroRows.REFUSED))
                .withScope(CapacityScope.groups(groupSize))
                .withOrder(DropOrder.CHOICE);
    }

    private static RowLimit.OfShare ofTokens(double factor) {
        return RowLimit.factor(factor).withShare(EvenShare.TOKENS);
    }
}
