package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.OptionalDouble;
import org.moe4j.bench.study.collapse.Claim;
import org.moe4j.bench.study.collapse.CollapseResult;
import org.moe4j.bench.study.collapse.Comparison;
import org.moe4j.bench.study.collapse.FunctionRow;
import org.moe4j.bench.study.collapse.Trajectory;

/** The collapse study as one JSON object: what has to hold, both forms of the function, start and end of every training. */
final class SharedCollapseJson {
    private SharedCollapseJson() {}

    static void put(CollapseResult result, ObjectNode root) {
        root.put("steps", result.settings().steps());
        root.put("held_out_tokens", result.settings().heldOut());
        ArrayNode claims = root.putArray("claims");
        result.claims().forEach(claim -> claims.add(claim(claim)));
        ArrayNode functions = root.putArray("functions");
        result.functions().forEach(row -> functions.add(function(row)));
        ArrayNode comparisons = root.putArray("comparisons");
        result.comparisons().forEach(row -> comparisons.add(comparison(row)));
        root.put("trained_on", result.trainedOn());
        ArrayNode trainings = root.putArray("trainings");
        result.trajectories().forEach(trajectory -> trainings.add(training(trajectory)));
    }

    private static ObjectNode claim(Claim claim) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("part", claim.part())
                .put("about", claim.about())
                .put("measured", claim.measured())
                .put("relation", claim.relation().words())
                .put("limit", claim.limit())
                .put("holds", claim.holds());
    }

    private static ObjectNode function(FunctionRow row) {
        ObjectNode node = JsonNodeFactory.instance
                .objectNode()
                .put("size", row.size())
                .put("widths", row.widthsText())
                .put("coefficients", row.coefficients().text())
                .put("backend", row.backend())
                .put("difference", row.difference())
                .put("norm", row.norm());
        put(node, "share_of_bound", row.ofBound());
        put(node, "residual", row.residual());
        return node.put("parts_parameters", row.parts().parameters())
                .put("wide_parameters", row.wide().parameters())
                .put("flops_per_token", row.wide().flopsPerToken());
    }

    private static ObjectNode comparison(Comparison row) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("part", row.part())
                .put("about", row.about())
                .put("same", row.same())
                .put("backend", row.backend())
                .put("difference", row.difference())
                .put("norm", row.norm());
    }

    private static void put(ObjectNode node, String name, OptionalDouble value) {
        if (value.isPresent()) {
            node.put(name, value.getAsDouble());
        } else {
            node.putNull(name);
        }
    }

    private static ObjectNode training(Trajectory trajectory) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("case", trajectory.training().text())
                .put("alike", trajectory.training().alike())
                .put("first_deviation", trajectory.points().get(0).deviation())
                .put("largest_deviation", trajectory.largest())
                .put("last_deviation", trajectory.end())
                .put("start_loss", trajectory.startLoss())
                .put("parts_loss", trajectory.partsLoss())
                .put("wide_loss", trajectory.wideLoss());
    }
}
