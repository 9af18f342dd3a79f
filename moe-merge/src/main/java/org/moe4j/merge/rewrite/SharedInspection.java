package org.moe4j.merge.rewrite;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.MergeConvention;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;

/** Looks at a shared branch: what can be seen of it, and which conditions of the collapse hold. */
final class SharedInspection {
    private SharedInspection() {}

    static IllegalArgumentException refusal(Obstacle obstacle) {
        return Require.expected("shared", obstacle.expected(), obstacle.found(), obstacle.hint());
    }

    /** The merge of a branch that is made of the library's own parts. */
    static MergeConvention requireVisible(SharedBranch branch) {
        for (Obstacle obstacle : unseen(branch)) {
            throw refusal(obstacle);
        }
        return (MergeConvention) branch.merge();
    }

    private static List<Obstacle> unseen(SharedBranch branch) {
        List<Obstacle> unseen = new ArrayList<>();
        for (int j = 0; j < branch.experts().size(); j++) {
            Experts expert = branch.experts().get(j);
            if (!isFeedForward(expert)) {
                unseen.add(new Obstacle.UnseenExpert(j, expert.getClass().getName()));
            }
        }
        if (!(branch.merge() instanceof MergeConvention)) {
            unseen.add(new Obstacle.UnseenMerge(branch.merge().getClass().getName()));
        }
        return unseen;
    }

    private static boolean isFeedForward(Experts expert) {
        return expert instanceof FeedForwardExperts || expert instanceof SwiGluExperts;
    }

    /** The verdict on a layer's shared branch; the fit of gates that differ where there are tokens. */
    static Collapsibility verdict(MoeLayer layer, Optional<Matrix> tokens) {
        int experts = layer.shared().map(branch -> branch.experts().size()).orElse(0);
        return layer.shared()
                .filter(branch -> experts > 1)
                .map(branch -> verdict(layer, branch, tokens))
                .orElseGet(() -> new Collapsibility.TooFew(experts));
    }

    private static Collapsibility verdict(MoeLayer layer, SharedBranch branch, Optional<Matrix> tokens) {
        List<Experts> experts = branch.experts();
        List<Obstacle> obstacles = unseen(branch);
        addShapes(experts, obstacles);
        if (branch.merge() instanceof GatedMerge gated) {
            List<List<Integer>> groups = equalRows(gated.gate());
            if (groups.size() > 1) {
                Optional<DownFit> fit = tokens.filter(any -> experts.stream().allMatch(SharedInspection::isFeedForward))
                        .map(some -> DownFit.of(layer, some));
                obstacles.add(new Obstacle.DistinctGates(gated.score(), groups, fit));
            }
        }
        if (!obstacles.isEmpty()) {
            return new Collapsibility.Apart(experts.size(), obstacles);
        }
        ExpertShape first = experts.get(0).shape();
        List<Integer> widths = experts.stream()
                .map(expert -> expert.shape().intermediateSize())
                .toList();
        return new Collapsibility.OneExpert(
                first.activation(), first.biases(), widths, coefficient((MergeConvention) branch.merge()));
    }

    private static void addShapes(List<Experts> experts, List<Obstacle> obstacles) {
        ExpertShape first = experts.get(0).shape();
        for (int j = 1; j < experts.size() && isFeedForward(experts.get(0)); j++) {
            ExpertShape other = experts.get(j).shape();
            if (isFeedForward(experts.get(j)) && !other.activation().equals(first.activation())) {
                obstacles.add(new Obstacle.Activations(first.activation(), j, other.activation()));
            }
            if (isFeedForward(experts.get(j)) && other.biases() != first.biases()) {
                obstacles.add(new Obstacle.Biases(first.biases(), j));
            }
        }
    }

    /**
     * Indices of rows that are equal element by element, in order of their first row; −0 equals 0, as it does in products. A row
     * that is not finite equals none: its gate values are refused or worth nothing.
     */
    private static List<List<Integer>> equalRows(Matrix gate) {
        double[] values = gate.toArray();
        Map<List<Double>, List<Integer>> groups = new LinkedHashMap<>();
        for (int row = 0; row < gate.rows(); row++) {
            List<Double> key = new ArrayList<>(gate.columns());
            for (int i = 0; i < gate.columns(); i++) {
                key.add(values[row * gate.columns() + i] + 0.0); // which makes −0 to 0
            }
            if (!key.stream().allMatch(Double::isFinite)) {
                key.add((double) row); // longer than any other
            }
            groups.computeIfAbsent(key, absent -> new ArrayList<>()).add(row);
        }
        return List.copyOf(groups.values());
    }

    /** Of a merge whose gate rows, if it has any, are equal. */
    private static CommonCoefficient coefficient(MergeConvention merge) {
        if (merge instanceof ScaledMerge scaled) {
            return new CommonCoefficient.Fixed(scaled.sharedScale());
        }
        GatedMerge gated = (GatedMerge) merge;
        if (gated.score() != SharedScore.SIGMOID) {
            return new CommonCoefficient.ConstantGates(
                    gated.score(), 1.0 / gated.gate().rows());
        }
        boolean zero = Arrays.stream(gated.gate().toArray()).allMatch(value -> value == 0);
        return zero ? new CommonCoefficient.ConstantGates(gated.score(), 0.5) : new CommonCoefficient.CommonGate();
    }
}
