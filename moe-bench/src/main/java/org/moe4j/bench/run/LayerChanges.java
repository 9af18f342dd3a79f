package org.moe4j.bench.run;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.moe4j.bench.routing.Cell;
import org.moe4j.bench.routing.Column;
import org.moe4j.bench.routing.Part;
import org.moe4j.bench.routing.Sheet;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.RoutingSource;
import org.moe4j.router.analysis.intervention.ExpertMask;
import org.moe4j.router.analysis.intervention.LayerIntervention;
import org.moe4j.router.analysis.intervention.OutputChange;
import org.moe4j.router.analysis.intervention.RemovedWeight;

/**
 * What is changed in a layer, one thing at a time.
 *
 * @param without experts that are masked; none: nothing of the kind
 * @param keep how many of the most used experts are kept
 * @param topK other numbers of experts per token
 * @param withoutShared whether the shared experts are silenced
 */
public record LayerChanges(List<Integer> without, OptionalInt keep, List<Integer> topK, boolean withoutShared) {
    /**
     * Copies the lists.
     *
     * @param without experts that are masked
     * @param keep how many of the most used experts are kept
     * @param topK other numbers of experts per token
     * @param withoutShared whether the shared experts are silenced
     */
    public LayerChanges {
        without = List.copyOf(without);
        topK = List.copyOf(topK);
    }

    /** Refuses what a layer of so many experts, of which a token has so many, cannot do. */
    void requireFit(int experts, int chosen, boolean shared) {
        without.forEach(expert -> Require.inRange("--without", expert, 0, experts - 1, "experts"));
        int left = experts - new HashSet<>(without).size();
        if (left < chosen) {
            throw Require.expected("--without", "at least " + chosen + " experts that are left (top-k)", left);
        }
        keep.ifPresent(count -> Require.inRange("--keep", count, 1, experts, "experts"));
        keep.ifPresent(count -> Require.atLeast("--keep", count, chosen));
        topK.forEach(count -> Require.inRange("--top-k", count, 1, experts, "experts"));
        if (withoutShared && !shared) {
            throw Require.expected("--without-shared", "a layer with a shared expert", "one without");
        }
    }

    Part part(MoeLayer layer, Matrix tokens) {
        Map<String, LayerIntervention> wanted = interventions(layer, tokens);
        return part(wanted.isEmpty() ? List.of() : rows(wanted, layer, tokens));
    }

    /** What each change does; the output that all are compared with is made once. */
    private static List<List<Cell>> rows(Map<String, LayerIntervention> wanted, MoeLayer layer, Matrix tokens) {
        List<List<Cell>> rows = new ArrayList<>();
        try (Matrix before = layer.apply(tokens)) {
            wanted.forEach((name, change) -> {
                try (Matrix after = change.apply(layer, tokens)) {
                    rows.add(row(name, OutputChange.between(before, after)));
                }
            });
        }
        return rows;
    }

    private static Part part(List<List<Cell>> rows) {
        return new Part(
                "changes",
                "One thing changed",
                "The output for all tokens of the input, beside the layer's own; nothing is trained again.",
                List.of(new Sheet(
                        "changes",
                        "Output of the changed layer, all tokens" + (rows.isEmpty() ? " (nothing was changed)" : ""),
                        1,
                        List.of(
                                Column.plain("change", "change"),
                                new Column("before_rms", "RMS before", Column.Form.SIX_DIGITS),
                                new Column("difference_rms", "RMS of the change", Column.Form.SIX_DIGITS),
                                new Column("relative", "relative", Column.Form.FOUR_DECIMALS),
                                new Column("cosine", "cosine", Column.Form.FOUR_DECIMALS),
                                new Column("mean_token_cosine", "mean over tokens", Column.Form.FOUR_DECIMALS)),
                        rows)),
                List.of());
    }

    private static List<Cell> row(String name, OutputChange change) {
        boolean none = change.beforeRms() == 0 && change.differenceRms() != 0;
        return List.of(
                Cell.of(name),
                Cell.of(change.beforeRms()),
                Cell.of(change.differenceRms()),
                none ? Cell.nothing() : Cell.of(change.relative()),
                Cell.of(change.cosine()),
                Cell.of(change.meanTokenCosine()));
    }

    private Map<String, LayerIntervention> interventions(MoeLayer layer, Matrix tokens) {
        Map<String, LayerIntervention> all = new LinkedHashMap<>();
        int experts = layer.router().experts();
        if (!without.isEmpty()) {
            int[] masked = without.stream().mapToInt(Integer::intValue).toArray();
            putMasks(all, "without " + words(without), ExpertMask.without(experts, masked));
        }
        if (keep.isPresent()) {
            long[] load = ExpertLoad.of(RoutingSource.of(layer.router().routing(tokens, RoutingContext.plain())))
                    .counts();
            int kept = keep.getAsInt();
            putMasks(all, "only the " + kept + " most used", ExpertMask.keepingMostUsed(load, kept));
        }
        topK.forEach(count -> all.put("top " + count, new LayerIntervention.OtherTopK(count)));
        if (withoutShared) {
            all.put("without shared experts", new LayerIntervention.WithoutShared());
        }
        return all;
    }

    private static void putMasks(Map<String, LayerIntervention> all, String name, ExpertMask mask) {
        all.put(name + ", before the choice", new LayerIntervention.MaskBeforeChoice(mask));
        all.put(name + ", after it, weight lost", new LayerIntervention.MaskAfterChoice(mask, RemovedWeight.LOST));
        all.put(
                name + ", after it, weight given to the others",
                new LayerIntervention.MaskAfterChoice(mask, RemovedWeight.GIVEN_TO_OTHERS));
    }

    private static String words(List<Integer> numbers) {
        return String.join(" ", numbers.stream().map(String::valueOf).toList());
    }
}
