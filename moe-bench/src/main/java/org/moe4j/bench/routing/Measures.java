package org.moe4j.bench.routing;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.moe4j.router.analysis.BatchCollapse;
import org.moe4j.router.analysis.CoActivation;
import org.moe4j.router.analysis.PassageUsage;
import org.moe4j.router.analysis.UsageDistance;
import org.moe4j.router.loss.RouterLosses;

/**
 * All that was counted.
 *
 * @param settings what was asked
 * @param passages in the order of the files
 * @param mixture batches of all passages; empty for a single one, or very short ones
 * @param together which experts are chosen together, by index of some layers; of all passages
 */
record Measures(
        RoutingSettings settings,
        List<OfPassage> passages,
        Optional<Mixture> mixture,
        Map<Integer, CoActivation> together) {
    /**
     * Of one passage.
     *
     * @param passage the trace
     * @param layers one after another
     * @param losses of all layers; none without logits
     */
    record OfPassage(Passage passage, List<LayerMeasures> layers, List<RouterLosses.Running.Value> losses) {}

    /**
     * Passages interleaved as requests of one batch, beside parts of one passage interleaved alike.
     *
     * @param tokens of each passage, or part
     * @param alone parts of one passage, over all passages and layers
     * @param mixed all passages, over all layers
     */
    record Mixture(long tokens, BatchCollapse alone, BatchCollapse mixed) {}

    int experts() {
        return passages.get(0).passage().trace().experts();
    }

    List<String> layers() {
        return passages.get(0).passage().trace().layers();
    }

    /** Indices of the first, the middle and the last layer, as the article shows them. */
    static List<Integer> shown(int layers) {
        return List.copyOf(new TreeSet<>(List.of(0, layers / 2, layers - 1)));
    }

    List<Integer> shown() {
        return shown(layers().size());
    }

    /** The distances between the passages in one layer. */
    UsageDistance distance(int layer) {
        return UsageDistance.of(passages.stream().map(of -> usage(of, layer)).toList());
    }

    private static PassageUsage usage(OfPassage of, int layer) {
        return of.layers().get(layer).usage();
    }
}
