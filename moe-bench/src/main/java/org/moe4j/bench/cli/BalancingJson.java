package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.moe4j.bench.study.balancing.BalancingResult;
import org.moe4j.bench.study.balancing.BalancingResult.Point;
import org.moe4j.bench.study.balancing.BalancingResult.Run;

/** The balancing study as one JSON object: start and end of every run. */
final class BalancingJson {
    private BalancingJson() {}

    static void put(BalancingResult result, ObjectNode root) {
        root.put("backend", result.backend());
        root.put("seeds", result.settings().seeds());
        root.put("steps", result.settings().steps());
        root.put("held_out_tokens", result.settings().heldOut());
        ArrayNode runs = root.putArray("runs");
        result.runs().forEach(run -> runs.add(run(run)));
        root.put("left_imbalance", BalancingResult.LEFT_IMBALANCE);
        root.put("reached", BalancingResult.REACHED);
    }

    private static ObjectNode run(Run run) {
        ObjectNode node = JsonNodeFactory.instance
                .objectNode()
                .put("method", run.method().text())
                .put("seed", run.seed())
                .put("teacher_loss", run.teacherLoss());
        if (run.reachedAt().isPresent()) {
            node.put("reached_at_step", run.reachedAt().getAsInt());
        } else {
            node.putNull("reached_at_step");
        }
        node.set("start", point(run, run.start()));
        node.set("end", point(run, run.end()));
        return node;
    }

    private static ObjectNode point(Run run, Point point) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("step", point.step())
                .put("max_over_mean", point.maxOverMean())
                .put("variation", point.variation())
                .put("loss", point.loss())
                .put("loss_over_teacher", run.lossOverTeacher(point));
    }
}
