package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.moe4j.bench.study.StudyPage;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;

/** The collapse study as tables and as a page: question, setup, tables, picture, what it shows. */
public final class CollapsePage {
    private CollapsePage() {}

    /**
     * All measurements with all digits.
     *
     * @param result of the study
     * @return one line per number
     */
    public static Table csv(CollapseResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (FunctionRow row : result.functions()) {
            List<String> key = List.of(
                    "function", row.size(), row.widthsText(), row.coefficients().text(), row.backend(), "");
            add(rows, key, "difference", row.difference());
            add(rows, key, "difference_of_two_tokens", row.differenceOfTwo());
            add(rows, key, "norm", row.norm());
            row.ofBound().ifPresent(share -> add(rows, key, "share_of_bound", share));
            row.residual().ifPresent(residual -> add(rows, key, "residual", residual));
            cost(rows, key, "parts", row.parts());
            cost(rows, key, "wide", row.wide());
        }
        for (Comparison row : result.comparisons()) {
            List<String> key = List.of(row.part(), "student", TrainingLayers.widths(), row.about(), row.backend(), "");
            add(rows, key, "difference", row.difference());
            add(rows, key, "norm", row.norm());
        }
        for (Trajectory trajectory : result.trajectories()) {
            for (Trajectory.Point point : trajectory.points()) {
                add(rows, key(result, trajectory, point.step()), "deviation", point.deviation());
            }
            int last = result.settings().steps();
            add(rows, key(result, trajectory, 0), "start_loss", trajectory.startLoss());
            add(rows, key(result, trajectory, last), "parts_loss", trajectory.partsLoss());
            add(rows, key(result, trajectory, last), "wide_loss", trajectory.wideLoss());
        }
        return new Table(List.of("part", "size", "widths", "case", "backend", "step", "quantity", "value"), 7, rows);
    }

    private static List<String> key(CollapseResult result, Trajectory trajectory, int step) {
        return List.of(
                "training",
                "student",
                TrainingLayers.widths(),
                trajectory.training().text(),
                result.trainedOn(),
                Integer.toString(step));
    }

    private static void cost(List<List<String>> rows, List<String> key, String form, FunctionRow.Cost cost) {
        add(rows, key, form + "_parameters", cost.parameters());
        add(rows, key, form + "_flops_per_token", cost.flopsPerToken());
        add(rows, key, form + "_modules", cost.modules());
    }

    private static void add(List<List<String>> rows, List<String> key, String quantity, long value) {
        add(rows, key, quantity, Long.toString(value));
    }

    private static void add(List<List<String>> rows, List<String> key, String quantity, double value) {
        add(rows, key, quantity, Decimal.of(value));
    }

    private static void add(List<List<String>> rows, List<String> key, String quantity, String value) {
        List<String> cells = new ArrayList<>(key);
        cells.add(quantity);
        cells.add(value);
        rows.add(cells);
    }

    /**
     * What has to hold, and what was measured.
     *
     * @param result of the study
     * @return one row per claim
     */
    public static Table table(CollapseResult result) {
        return new Table(
                List.of("part", "case and quantity", "measured", "expected", "holds"),
                2,
                result.claims().stream()
                        .map(claim -> List.of(
                                claim.part(),
                                claim.about(),
                                Claim.text(claim.measured()),
                                claim.expected(),
                                claim.holds() ? "yes" : "no"))
                        .toList());
    }

    /**
     * Both forms of the function, for all partitions.
     *
     * @param result of the study
     * @return a column for the relative difference on each backend
     */
    static Table functions(CollapseResult result) {
        List<String> backends =
                result.functions().stream().map(FunctionRow::backend).distinct().toList();
        List<String> columns = new ArrayList<>(List.of("size", "n", "widths", "coefficients"));
        columns.addAll(backends);
        columns.add("residual");
        List<List<String>> rows = new ArrayList<>();
        for (FunctionRow first : result.functions()) {
            if (first.backend().equals(backends.get(0))) {
                List<FunctionRow> alike = result.functions().stream()
                        .filter(row -> row.size().equals(first.size())
                                && row.widths().equals(first.widths())
                                && row.coefficients() == first.coefficients())
                        .toList();
                List<String> cells = new ArrayList<>(List.of(
                        first.size(),
                        Integer.toString(first.experts()),
                        first.widthsText(),
                        first.coefficients().phrase()));
                backends.forEach(backend -> cells.add(relative(alike, backend)));
                cells.add(residual(alike));
                rows.add(cells);
            }
        }
        return new Table(columns, 4, rows);
    }

    /**
     * Gradients of both forms, and a layer whose routed experts are split.
     *
     * @param result of the study
     * @return a column for the relative difference on each backend
     */
    static Table comparisons(CollapseResult result) {
        List<String> backends = result.comparisons().stream()
                .map(Comparison::backend)
                .distinct()
                .toList();
        List<String> columns = new ArrayList<>(List.of("part", "compared", "expected"));
        columns.addAll(backends);
        List<List<String>> rows = new ArrayList<>();
        for (Comparison first : result.comparisons()) {
            if (first.backend().equals(backends.get(0))) {
                List<String> cells = new ArrayList<>(
                        List.of(first.part(), first.about(), first.same() ? "the same" : "not the same"));
                result.comparisons().stream()
                        .filter(row -> row.about().equals(first.about()))
                        .forEach(row -> cells.add(Claim.text(row.relative())));
                rows.add(cells);
            }
        }
        return new Table(columns, 3, rows);
    }

    private static String relative(List<FunctionRow> rows, String backend) {
        return rows.stream()
                .filter(row -> row.backend().equals(backend))
                .map(row -> row.difference() == 0 ? "0" : Claim.text(row.relative()))
                .findFirst()
                .orElse("");
    }

    /** Of the last backend that has one: all of them have the same function. */
    private static String residual(List<FunctionRow> rows) {
        return rows.stream()
                .flatMapToDouble(row -> row.residual().stream())
                .mapToObj(residual -> String.format(Locale.ROOT, "%.3f", residual))
                .reduce("", (before, last) -> last);
    }

    /**
     * How both forms trained.
     *
     * @param result of the study
     * @return one row per way of training
     */
    static Table trainings(CollapseResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Trajectory trajectory : result.trajectories()) {
            rows.add(List.of(
                    trajectory.training().phrase(),
                    trajectory.training().alike() ? "alike" : "not alike",
                    Claim.text(trajectory.points().get(0).deviation()),
                    Claim.text(trajectory.largest()),
                    Claim.text(trajectory.end()),
                    rounded(trajectory.startLoss()),
                    rounded(trajectory.partsLoss()),
                    rounded(trajectory.wideLoss())));
        }
        return new Table(
                List.of(
                        "training",
                        "expected",
                        "first deviation",
                        "largest",
                        "last",
                        "loss before",
                        "of the parts after",
                        "of the wide form after"),
                2,
                rows);
    }

    private static String rounded(double value) {
        return String.format(Locale.ROOT, "%.4f", value);
    }

    /**
     * Whether all claims hold, in one line.
     *
     * @param result of the study
     * @return a sentence
     */
    public static String verdict(CollapseResult result) {
        return result.shortfall()
                .map(worst -> "The study fell short: " + worst + ".")
                .orElseGet(() -> "All " + result.claims().size()
                        + " claims hold: with one coefficient for all, several shared experts and one wider expert differ by"
                        + " rounding only and train alike element by element; with gates that differ they are two functions,"
                        + " and Muon trains them apart.");
    }

    /**
     * The page.
     *
     * @param result of the study
     * @param picture file name of the picture beside the page
     * @return Markdown; the same for the same numbers
     */
    public static String markdown(CollapseResult result, String picture) {
        return new StudyPage(
                        "Shared experts as one wider expert",
                        "Are several ungated shared experts one wider shared expert, exactly where does that end, and do both"
                                + " forms train alike? (Section 20 and Figure 68 of the report on Olmo's MoE recipe.)",
                        CollapseWords.setup(result),
                        tables(result),
                        verdict(result),
                        "![Lines: relative difference of both forms by number of experts in single and double precision, and by"
                                + " training step](" + picture + ")",
                        CollapseWords.findings(result))
                .markdown();
    }

    private static String tables(CollapseResult result) {
        return String.join(
                "\n",
                "What has to hold. For the function, the largest over all partitions, sizes and backends (of gates that differ"
                        + " the smallest); for training, the largest over all steps where both forms are to train alike, else"
                        + " the last.",
                "",
                table(result).markdown(),
                "The largest difference of the two forms over the largest output, by partition and backend; `residual`: what"
                        + " the best fixed down projection leaves of the output's norm.",
                "",
                functions(result).markdown(),
                "The same measure of the students' gradients, of both forms from the same tokens and the same gradient of the"
                        + " output, and of the outputs of a student whose routed experts are split, beside it unsplit.",
                "",
                comparisons(result).markdown(),
                "Both forms while they learn: the same measure on held-out tokens, and the mean squared error on them.",
                "",
                trainings(result).markdown());
    }
}
