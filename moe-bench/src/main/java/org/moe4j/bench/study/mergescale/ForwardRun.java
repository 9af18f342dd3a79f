package org.moe4j.bench.study.mergescale;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.moe4j.bench.study.Norms;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.rewrite.SharedExpertCollapse;

/**
 * The forward half of the study for one seed: scale and direction of the merged output against the matched dense one.
 *
 * <p>Only K routed experts exist. The experts run once; every convention merges the same two branches.
 */
final class ForwardRun {
    private ForwardRun() {}

    static Map<Measure, Double> measure(Preset preset, Backend backend, int tokens, long seed) {
        int topK = ActiveWidths.of(preset).topK();
        Map<Measure, Double> measured = new HashMap<>();
        try (SeededLayer layer = SeededLayer.draw(preset, topK, backend, tokens, seed)) {
            List<ScaledMerge> conventions = Quantity.conventions(layer.widths());
            FrozenRouter byRank = FrozenRouter.byRank(layer.router());
            try (MoePass pass = layer.with(byRank, conventions.get(0)).forward(layer.tokens());
                    Matrix merged = pass.output();
                    Matrix dense = dense(layer)) {
                measured.put(Measure.of(Quantity.SUM_P_SQUARED), sumPSquared(pass.routing()));
                measured.put(
                        Measure.of(Quantity.BRANCH_RMS_RATIO),
                        Norms.rms(pass.sharedOutputs().get(0)) / routedBranchRms(layer));
                compare(conventions.get(0), merged, dense, measured);
                for (ScaledMerge convention : conventions.subList(1, conventions.size())) {
                    try (Matrix other = convention
                            .merge(layer.tokens(), pass.routedOutput(), pass.sharedOutputs())
                            .output()) {
                        compare(convention, other, dense, measured);
                    }
                }
            }
        }
        return measured;
    }

    private static void compare(ScaledMerge convention, Matrix output, Matrix dense, Map<Measure, Double> measured) {
        measured.put(Measure.of(convention, Quantity.OUTPUT_RMS), Norms.rms(output) / Norms.rms(dense));
        measured.put(Measure.of(convention, Quantity.COSINE), Norms.cosine(output, dense));
    }

    /** Output of one wide expert that holds the routed experts and the shared one side by side. */
    private static Matrix dense(SeededLayer layer) {
        List<SwiGluWeights> parts = new ArrayList<>();
        for (int e = 0; e < layer.routed().shape().count(); e++) {
            parts.add(layer.routed().expert(e));
        }
        parts.add(layer.shared().expert(0));
        try (SwiGluWeights wide = SharedExpertCollapse.concatenate(parts);
                SwiGluExperts bank = SwiGluExperts.of(List.of(wide))) {
            int tokens = layer.tokens().rows();
            return bank.apply(layer.tokens(), allRows(tokens, 1), RowGroups.single(tokens));
        } finally {
            parts.forEach(SwiGluWeights::close);
        }
    }

    /** Over all entries of the outputs of all routed experts on all tokens. */
    private static double routedBranchRms(SeededLayer layer) {
        int experts = layer.routed().shape().count();
        int tokens = layer.tokens().rows();
        int[] sizes = new int[experts];
        Arrays.fill(sizes, tokens);
        try (Matrix outputs =
                layer.routed().apply(layer.tokens(), allRows(tokens, experts), RowGroups.ofSizes(sizes))) {
            return Norms.rms(outputs);
        }
    }

    private static int[] allRows(int tokens, int times) {
        return IntStream.range(0, tokens * times).map(i -> i % tokens).toArray();
    }

    /** Mean over tokens of {@code Σ p²}. */
    private static double sumPSquared(Routing routing) {
        double sum = 0;
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                sum += routing.weight(t, rank) * routing.weight(t, rank);
            }
        }
        return sum / routing.tokens();
    }
}
