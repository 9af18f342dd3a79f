package org.moe4j.merge.rewrite;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.MergeConvention;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.merge.rewrite.Collapsibility.Apart;
import org.moe4j.merge.rewrite.Collapsibility.OneExpert;

/**
 * Rewrites the shared branch of a layer: several shared experts as one wide one, and one as several (Equations 75 to 77 of the report on
 * Olmo's MoE recipe). The function stays the same; {@link Collapsibility} says whether training keeps it so. Weights move and keep
 * their bits, but for the sum of down biases.
 *
 * <p><b>Closing.</b> Both results have shared experts and, where there is a gate, a merge of their own; router and routed experts
 * are those of the given layer, as with {@link MoeLayer#withShared}. Closing either layer therefore leaves neither usable, and
 * closes the shared branch of that one alone: close both when both are done with. {@link MoeLayer#withParameters} makes a layer
 * that has all parts to itself.
 */
public final class SharedBranchCollapse {
    private SharedBranchCollapse() {}

    /**
     * The same layer with one shared expert instead of several, of width {@code Σ_j m_j}.
     *
     * <p>Fixed factors stay in the merge, which stays as it is; a named convention depends on the total shared width only. n equal gate rows
     * become a gate of one row (Equation 77). Gates that are constant become {@code ScaledMerge.scaled(1, 1/2)} or
     * {@code scaled(1, 1/n)}: the constant is not multiplied into the down projection, so that no weight is rounded and the
     * gradients of all projections stay the same.
     *
     * @param layer with shared experts that are {@link Collapsibility#collapsible()}
     * @return a layer that computes the same but for rounding
     * @throws IllegalArgumentException when they are not, naming the first condition that fails
     */
    public static MoeLayer collapse(MoeLayer layer) {
        Collapsibility verdict = Collapsibility.of(layer);
        if (verdict instanceof Apart apart) {
            throw SharedInspection.refusal(apart.obstacles().get(0));
        }
        if (!(verdict instanceof OneExpert one)) {
            throw Require.expected("shared", "at least 2 shared experts", count(layer), "there is nothing to collapse");
        }
        SharedBranch branch = layer.shared().orElseThrow();
        try (Unfinished made = new Unfinished()) {
            Experts wide = made.add(SharedExpertCollapse.concatenateBanks(branch.experts()));
            MergeConvention merge = made.add(collapsed((MergeConvention) branch.merge(), one.coefficient()));
            MoeLayer collapsed = layer.withShared(SharedBranch.of(wide, merge));
            made.keep();
            return collapsed;
        }
    }

    private static int count(MoeLayer layer) {
        return layer.shared().map(branch -> branch.experts().size()).orElse(0);
    }

    private static MergeConvention collapsed(MergeConvention merge, CommonCoefficient coefficient) {
        if (coefficient instanceof CommonCoefficient.ConstantGates constant) {
            return ScaledMerge.scaled(1, constant.value());
        }
        return merge instanceof GatedMerge gated ? withFirstRow(gated, 1) : merge;
    }

    /** A gate that has the first row of another, some times. */
    private static GatedMerge withFirstRow(GatedMerge merge, int times) {
        try (Matrix gate = merge.gate().backend().gatherRows(merge.gate(), new int[times])) {
            return new GatedMerge(gate, SharedScore.SIGMOID);
        }
    }

    /**
     * The inverse: the same layer with several shared experts instead of one. A gate of one row is repeated for each of them. The
     * down bias, where there is one, goes to the first.
     *
     * @param layer with one shared expert, of width F, that is {@link org.moe4j.core.expert.FeedForwardExperts} or
     *     {@link org.moe4j.core.expert.SwiGluExperts}, and a {@link MergeConvention} that takes several
     * @param widths m_j, at least 1 each, F in all
     * @return a layer that computes the same but for rounding
     * @throws IllegalArgumentException for another number of experts, a branch that cannot be seen into, a merge for one shared expert only,
     *     or widths that do not add up
     */
    public static MoeLayer split(MoeLayer layer, int... widths) {
        SharedBranch branch = layer.shared()
                .filter(shared -> shared.experts().size() == 1)
                .orElseThrow(() -> Require.expected("shared", "1 shared expert", count(layer)));
        MergeConvention merge = SharedInspection.requireVisible(branch);
        try (Unfinished made = new Unfinished()) {
            List<Experts> parts = new ArrayList<>(
                    SharedExpertCollapse.splitBank(branch.experts().get(0), widths));
            parts.forEach(made::add);
            MergeConvention several =
                    made.add(merge instanceof GatedMerge gated ? withFirstRow(gated, parts.size()) : merge);
            MoeLayer split = layer.withShared(new SharedBranch(parts, several));
            made.keep();
            return split;
        }
    }
}
