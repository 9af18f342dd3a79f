package org.moe4j.bench.study.budget;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.stream.Stream;
import org.moe4j.bench.study.budget.Budget.Paths;
import org.moe4j.bench.study.budget.BudgetResult.Point;
import org.moe4j.bench.study.budget.BudgetResult.Run;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;

/** The tables of the shared-budget study. */
final class BudgetTables {
    private BudgetTables() {}

    /** A table and what it is of. */
    record Titled(String title, Table table) {}

    /** All of them, for reading. */
    static List<Titled> of(BudgetResult result) {
        return List.of(
                new Titled("Budget: numbers stored, and operations of one token forward", budget(result)),
                new Titled("RMS before training, over that of the matched dense block", scales(result)),
                new Titled(
                        "Loss over the teacher's: before training, after it, and after one change to what was trained",
                        losses(result)),
                new Titled("Specialization, and rows accepted by the experts after training", rows(result)));
    }

    private static Table budget(BudgetResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (BudgetVariant variant : BudgetVariant.values()) {
            Budget budget =
                    result.runs(BudgetTeacher.COMMON, variant).get(0).budget(); // all seeds and teachers have the same
            List<String> row = new ArrayList<>(List.of(
                    variant.text(),
                    Integer.toString(variant.experts()),
                    Integer.toString(variant.topK()),
                    Integer.toString(variant.width()),
                    Integer.toString(variant.sharedWidth())));
            for (Paths paths : List.of(budget.stored(), budget.active())) {
                row.addAll(Stream.of(paths.router(), paths.routed(), paths.shared(), paths.experts())
                        .map(BudgetTables::whole)
                        .toList());
            }
            rows.add(row);
        }
        List<String> columns = new ArrayList<>(List.of("variant", "E", "K", "F", "d_s"));
        for (String of : List.of("stored", "active")) {
            columns.addAll(List.of(of + ": router", "routed", "shared", "experts"));
        }
        return new Table(columns, 1, rows);
    }

    private static Table scales(BudgetResult result) {
        return new Table(
                List.of("variant", "seed", "predicted", "measured", "band"),
                1,
                result.scales().stream()
                        .map(scale -> List.of(
                                scale.variant().text(),
                                Integer.toString(scale.seed()),
                                rounded(scale.predicted()),
                                rounded(scale.measured()),
                                "±" + rounded(StartScale.ERRORS * scale.standardError())))
                        .toList());
    }

    private static Table losses(BudgetResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Run run : result.runs()) {
            Interventions changes = run.interventions();
            rows.add(List.of(
                    run.teacher().text(),
                    run.variant().text(),
                    Integer.toString(run.seed()),
                    rounded(run.overTeacher(run.start().loss())),
                    rounded(run.ending()),
                    overTeacher(run, changes.sharedOff()),
                    rounded(run.overTeacher(changes.routedOff())),
                    overTeacher(run, changes.routedInstead())));
        }
        return new Table(
                List.of(
                        "teacher",
                        "variant",
                        "seed",
                        "start",
                        "end",
                        "shared off",
                        "routed off",
                        "one routed more for the shared"),
                2,
                rows);
    }

    private static Table rows(BudgetResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Run run : result.runs()) {
            rows.add(List.of(
                    run.teacher().text(),
                    run.variant().text(),
                    Integer.toString(run.seed()),
                    rounded(run.start().betweenGroups()),
                    rounded(run.end().betweenGroups()),
                    rounded(run.end().withinGroups()),
                    Integer.toString(run.rows().least()),
                    whole(run.rows().median()),
                    Integer.toString(run.rows().most()),
                    Integer.toString(run.rows().shared())));
        }
        return new Table(
                List.of(
                        "teacher",
                        "variant",
                        "seed",
                        "TV at the start",
                        "TV at the end",
                        "TV by chance",
                        "least rows",
                        "median",
                        "most",
                        "shared"),
                2,
                rows);
    }

    /** All numbers with all digits, one a line. */
    static Table csv(BudgetResult result) {
        Lines lines = new Lines(new ArrayList<>());
        for (StartScale scale : result.scales()) {
            Of of = new Of("-", scale.variant(), scale.seed(), 0);
            lines.add(of, "start_rms_predicted", scale.predicted());
            lines.add(of, "start_rms_measured", scale.measured());
            lines.add(of, "start_rms_standard_error", scale.standardError());
        }
        for (Run run : result.runs()) {
            for (Point point : run.points()) {
                Of of = new Of(run.teacher().text(), run.variant(), run.seed(), point.step());
                lines.add(of, "loss", point.loss());
                lines.add(of, "tv_between_groups", point.betweenGroups());
                lines.add(of, "tv_within_groups", point.withinGroups());
            }
            addEnd(run, lines);
        }
        return new Table(List.of("teacher", "variant", "seed", "step", "quantity", "value"), 2, lines.rows());
    }

    private static void addEnd(Run run, Lines lines) {
        Of of = new Of(
                run.teacher().text(), run.variant(), run.seed(), run.end().step());
        lines.add(of, "teacher_loss", run.teacherLoss());
        run.interventions().sharedOff().ifPresent(loss -> lines.add(of, "loss_shared_off", loss));
        lines.add(of, "loss_routed_off", run.interventions().routedOff());
        run.interventions().routedInstead().ifPresent(loss -> lines.add(of, "loss_routed_instead", loss));
        for (int e = 0; e < run.rows().perExpert().size(); e++) {
            lines.add(of, "rows_" + e, run.rows().perExpert().get(e));
        }
        lines.add(of, "rows_shared", run.rows().shared());
        addPaths(of, "stored", run.budget().stored(), lines);
        addPaths(of, "active", run.budget().active(), lines);
    }

    private static void addPaths(Of of, String name, Paths paths, Lines lines) {
        lines.add(of, name + "_router", paths.router());
        lines.add(of, name + "_routed", paths.routed());
        lines.add(of, name + "_shared", paths.shared());
    }

    /** What a number is of. */
    private record Of(String teacher, BudgetVariant variant, int seed, int step) {}

    private record Lines(List<List<String>> rows) {
        void add(Of of, String quantity, double value) {
            rows.add(List.of(
                    of.teacher(),
                    of.variant().text(),
                    Integer.toString(of.seed()),
                    Integer.toString(of.step()),
                    quantity,
                    Decimal.of(value)));
        }
    }

    private static String overTeacher(Run run, OptionalDouble loss) {
        return loss.isPresent() ? rounded(run.overTeacher(loss.getAsDouble())) : "–";
    }

    static String rounded(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }

    /** Without a superfluous point, as 6 and 0.02. */
    static String whole(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Decimal.of(value);
    }
}
