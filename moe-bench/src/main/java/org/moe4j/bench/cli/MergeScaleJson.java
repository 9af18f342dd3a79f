package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.OptionalDouble;
import org.moe4j.bench.study.mergescale.MergeScaleResult;
import org.moe4j.bench.study.mergescale.MergeScaleResult.Row;
import org.moe4j.bench.study.mergescale.MergeScaleSettings;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.ActiveWidths;

/** The merge-scale study as one JSON object: what the table says. */
final class MergeScaleJson {
    private MergeScaleJson() {}

    static void put(MergeScaleResult result, ObjectNode root) {
        MergeScaleSettings settings = result.settings();
        root.set(
                "forward",
                half(settings.forward(), settings.forwardSeeds(), settings.forwardTokens(), result.forwardBackend()));
        root.set(
                "backward",
                half(
                        settings.backward(),
                        settings.backwardSeeds(),
                        settings.backwardTokens(),
                        result.backwardBackend()));
        ArrayNode rows = root.putArray("rows");
        result.rows().forEach(row -> rows.add(row(row)));
        root.put("tolerance", settings.tolerance());
        root.put("exact_tolerance", MergeScaleResult.EXACT_TOLERANCE);
        root.put("agrees", result.disagreement().isEmpty());
        root.put("disagreement", result.disagreement().orElse(null));
    }

    private static ObjectNode half(Preset preset, int seeds, int tokens, String backend) {
        ExpertShape routed = ExpertShape.routed(preset);
        ActiveWidths widths = ActiveWidths.of(preset);
        return JsonNodeFactory.instance
                .objectNode()
                .put("hidden_size", ExpertShape.tokenWidth(preset))
                .put("routed_width", widths.routedWidth())
                .put("shared_width", widths.sharedWidth())
                .put("experts", routed.count())
                .put("top_k", widths.topK())
                .put("seeds", seeds)
                .put("tokens", tokens)
                .put("backend", backend);
    }

    private static ObjectNode row(Row row) {
        ObjectNode node = JsonNodeFactory.instance
                .objectNode()
                .put("panel", row.panel())
                .put("convention", row.convention())
                .put("quantity", row.quantity())
                .put("mean", row.mean())
                .put("min", row.min())
                .put("max", row.max());
        put(node, "predicted", row.predicted());
        node.put("published", row.published().orElse(null));
        put(node, "difference", row.difference());
        return node;
    }

    /** A number, or null where there is none. */
    private static void put(ObjectNode node, String name, OptionalDouble value) {
        if (value.isPresent()) {
            node.put(name, value.getAsDouble());
        } else {
            node.putNull(name);
        }
    }
}
