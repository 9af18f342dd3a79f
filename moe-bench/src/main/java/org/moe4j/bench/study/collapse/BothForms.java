package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.bench.study.collapse.FunctionRow.Cost;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.merge.rewrite.DownFit;
import org.moe4j.merge.rewrite.DownScale;
import org.moe4j.merge.rewrite.SharedExpertCollapse;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** The parts of one set of weights, the wide expert that is made of them again, and what each of them makes of the tokens. */
final class BothForms implements AutoCloseable {
    private final List<Integer> widths;
    private final Matrix tokens;
    private final Unfinished held = new Unfinished();
    private final List<SwiGluExperts> experts = new ArrayList<>();
    private final List<Matrix> outputs = new ArrayList<>();
    private final List<SwiGluWeights> parts = new ArrayList<>();
    private final FeedForwardExperts wideExpert;
    private final Matrix wide;

    /** Cuts the weights and puts them together again. */
    BothForms(SwiGluWeights weights, List<Integer> widths, Matrix tokens) {
        this.widths = widths;
        this.tokens = tokens;
        int[] each = widths.stream().mapToInt(Integer::intValue).toArray();
        SharedExpertCollapse.split(weights, each).forEach(part -> parts.add(held.add(part)));
        for (SwiGluWeights part : parts) {
            SwiGluExperts expert = held.add(SwiGluExperts.of(List.of(part)));
            experts.add(expert);
            outputs.add(held.add(apply(expert, tokens)));
        }
        wideExpert = held.add(SharedExpertCollapse.concatenateBanks(experts));
        wide = held.add(apply(wideExpert, tokens));
    }

    private static Matrix apply(Experts expert, Matrix tokens) {
        int[] rows = new int[tokens.rows()];
        for (int t = 0; t < rows.length; t++) {
            rows[t] = t;
        }
        return expert.apply(tokens, rows, RowGroups.single(rows.length));
    }

    List<Integer> widths() {
        return widths;
    }

    /** Output of each part (T×D). */
    List<Matrix> parts() {
        return List.copyOf(outputs);
    }

    /** Output of the wide expert (T×D). */
    Matrix wide() {
        return wide;
    }

    /** {@code Σ_j c_j·E_j(x)}, the caller's. */
    Matrix weightedSum(List<Double> constants) {
        Backend backend = tokens.backend();
        Matrix sum = backend.linearCombination(constants.get(0), outputs.get(0), 0, outputs.get(0));
        for (int j = 1; j < outputs.size(); j++) {
            try (Matrix before = sum) {
                sum = backend.linearCombination(1, before, constants.get(j), outputs.get(j));
            }
        }
        return sum;
    }

    /** Output of the wide expert with each constant in the down projection of its part, the caller's. */
    Matrix wideWith(List<Double> constants) {
        List<DownScale> coefficients =
                constants.subList(0, parts.size()).stream().map(DownScale::new).toList();
        try (FeedForwardExperts expert = SharedExpertCollapse.concatenateBanks(experts, coefficients)) {
            return apply(expert, tokens);
        }
    }

    /** A merge with a gate for each part, the first rows of the given ones; the caller's. */
    GatedMerge gatedBy(Matrix gates) {
        int[] rows = IntStream.range(0, parts.size()).toArray();
        try (Matrix first = tokens.backend().gatherRows(gates, rows)) {
            return new GatedMerge(first, SharedScore.SIGMOID);
        }
    }

    /** What the best fixed down projection leaves of the parts' gated sum, as a share of its norm. */
    double residual(Matrix gates) {
        Backend backend = tokens.backend();
        int hiddenSize = tokens.columns();
        List<Experts> shared = new ArrayList<>();
        parts.forEach(part -> shared.add(SwiGluExperts.of(List.of(part))));
        // the layer needs a router and routed experts; the fit does not look at them
        TopKRouter router = TopKRouter.random(RouterConfig.topK(1, 1), hiddenSize, backend, 1);
        SwiGluExperts routed = SwiGluExperts.random(new ExpertShape(1, hiddenSize, 1), backend, 1);
        try (MoeLayer layer = MoeLayer.of(router, routed).withShared(new SharedBranch(shared, gatedBy(gates)))) {
            return DownFit.of(layer, tokens).residual();
        }
    }

    /** Which part each of the F units belongs to. */
    int[] expertOfUnit() {
        int[] expert = new int[widths.stream().mapToInt(Integer::intValue).sum()];
        int unit = 0;
        for (int j = 0; j < widths.size(); j++) {
            for (int i = 0; i < widths.get(j); i++) {
                expert[unit++] = j;
            }
        }
        return expert;
    }

    Cost costOfParts() {
        return cost(experts);
    }

    Cost costOfWide() {
        return cost(List.of(wideExpert));
    }

    private static Cost cost(List<? extends Experts> form) {
        long numbers = 0;
        long flops = 0;
        for (Experts expert : form) {
            flops += expert.shape().flopsPerToken(1);
            try (Parameters parameters = expert.parameters()) {
                for (String name : parameters.names()) {
                    Matrix value = parameters.get(name);
                    numbers += (long) value.rows() * value.columns();
                }
            }
        }
        return new Cost(numbers, flops, form.size());
    }

    @Override
    public void close() {
        held.close();
    }
}
