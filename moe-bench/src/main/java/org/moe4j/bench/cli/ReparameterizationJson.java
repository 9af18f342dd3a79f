package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Line;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Point;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Run;

/** The reparameterization study as one JSON object: the largest deviation of every rewritten layer. */
final class ReparameterizationJson {
    private ReparameterizationJson() {}

    static void put(ReparameterizationResult result, ObjectNode root) {
        root.put("backend", result.backend());
        root.put("steps", result.settings().steps());
        root.put("tokens", result.settings().tokens());
        root.put("held_out_tokens", result.settings().heldOut());
        ArrayNode runs = root.putArray("runs");
        result.runs().forEach(run -> runs.add(run(run)));
        root.put("follows", ReparameterizationResult.FOLLOWS);
        root.put("parts", ReparameterizationResult.PARTS);
    }

    private static ObjectNode run(Run run) {
        ObjectNode node = JsonNodeFactory.instance
                .objectNode()
                .put("optimizer", run.descent().text())
                .put("start_loss", run.startLoss())
                .put("end_loss", run.endLoss())
                .put("closest_logits", run.closest())
                .put("clipped_steps", run.clipped());
        ArrayNode lines = node.putArray("layers");
        run.lines().forEach(line -> lines.add(line(line)));
        return node;
    }

    private static ObjectNode line(Line line) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("treatment", line.treatment().text())
                .put("convention", line.convention())
                .put("routed_factor", line.routed())
                .put("shared_factor", line.shared())
                .put("follows", line.treatment().follows())
                .put("function_deviation", line.most(Point::function))
                .put("parameter_deviation", line.most(Point::parameters));
    }
}
