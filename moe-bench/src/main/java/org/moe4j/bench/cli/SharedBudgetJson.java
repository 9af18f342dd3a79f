package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.moe4j.bench.study.budget.Budget.Paths;
import org.moe4j.bench.study.budget.BudgetResult;
import org.moe4j.bench.study.budget.BudgetResult.Point;
import org.moe4j.bench.study.budget.BudgetResult.Run;
import org.moe4j.bench.study.budget.Interventions;
import org.moe4j.bench.study.budget.PathTimes;
import org.moe4j.bench.study.budget.PathTimes.Times;
import org.moe4j.bench.study.budget.StartScale;

/** The shared-budget study as one JSON object: every run at its start and end, the scales before training, and the times. */
final class SharedBudgetJson {
    private SharedBudgetJson() {}

    static void put(BudgetResult result, PathTimes times, ObjectNode root) {
        root.put("backend", result.backend());
        root.put("seeds", result.settings().seeds());
        root.put("steps", result.settings().steps());
        root.put("held_out_tokens", result.settings().heldOut());
        root.put("starts", result.settings().starts());
        ArrayNode runs = root.putArray("runs");
        result.runs().forEach(run -> runs.add(run(run)));
        ArrayNode scales = root.putArray("start_rms");
        result.scales().forEach(scale -> scales.add(scale(scale)));
        ObjectNode timed = root.putObject("times");
        timed.put("indicative", true);
        timed.put("unit", "total of none");
        timed.put("tokens", PathTimes.TOKENS);
        timed.put("times_the_widths", PathTimes.FACTOR);
        ArrayNode variants = timed.putArray("variants");
        times.times().forEach(of -> variants.add(times(of)));
    }

    private static ObjectNode run(Run run) {
        ObjectNode node = JsonNodeFactory.instance
                .objectNode()
                .put("teacher", run.teacher().text())
                .put("variant", run.variant().text())
                .put("seed", run.seed())
                .put("teacher_loss", run.teacherLoss());
        node.set("stored", paths(run.budget().stored()));
        node.set("active", paths(run.budget().active()));
        ObjectNode rows = node.putObject("rows");
        ArrayNode perExpert = rows.putArray("routed");
        run.rows().perExpert().forEach(perExpert::add);
        rows.put("least", run.rows().least());
        rows.put("median", run.rows().median());
        rows.put("most", run.rows().most());
        rows.put("shared", run.rows().shared());
        node.set("start", point(run, run.start()));
        node.set("end", point(run, run.end()));
        Interventions changes = run.interventions();
        ObjectNode losses = node.putObject("loss_after_one_change");
        losses.put("routed_off", changes.routedOff());
        changes.sharedOff().ifPresentOrElse(loss -> losses.put("shared_off", loss), () -> losses.putNull("shared_off"));
        changes.routedInstead()
                .ifPresentOrElse(loss -> losses.put("routed_instead", loss), () -> losses.putNull("routed_instead"));
        return node;
    }

    private static ObjectNode paths(Paths paths) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("router", paths.router())
                .put("routed", paths.routed())
                .put("shared", paths.shared());
    }

    private static ObjectNode point(Run run, Point point) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("step", point.step())
                .put("loss", point.loss())
                .put("loss_over_teacher", run.overTeacher(point.loss()))
                .put("tv_between_groups", point.betweenGroups())
                .put("tv_within_groups", point.withinGroups());
    }

    private static ObjectNode scale(StartScale scale) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("variant", scale.variant().text())
                .put("seed", scale.seed())
                .put("predicted", scale.predicted())
                .put("measured", scale.measured())
                .put("standard_error", scale.standardError());
    }

    private static ObjectNode times(Times times) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("variant", times.variant().text())
                .put("router", times.router())
                .put("dispatch", times.dispatch())
                .put("routed", times.routed())
                .put("shared", times.shared())
                .put("total", times.total());
    }
}
