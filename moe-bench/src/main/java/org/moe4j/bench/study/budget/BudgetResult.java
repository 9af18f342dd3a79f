package org.moe4j.bench.study.budget;

import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import org.moe4j.bench.study.budget.Budget.Paths;

/**
 * What the shared-budget study measured.
 *
 * @param settings seeds and steps
 * @param backend where it ran
 * @param runs teacher by teacher, variant by variant, seed by seed
 * @param scales variant by variant, seed by seed
 */
public record BudgetResult(BudgetSettings settings, String backend, List<Run> runs, List<StartScale> scales) {
    /**
     * Copies the lists.
     *
     * @param settings seeds and steps
     * @param backend where it ran
     * @param runs teacher by teacher, variant by variant, seed by seed
     * @param scales variant by variant, seed by seed
     */
    public BudgetResult {
        runs = List.copyOf(runs);
        scales = List.copyOf(scales);
    }

    /**
     * A student on the held-out tokens at one step.
     *
     * @param step from 0, before training
     * @param loss mean squared error
     * @param betweenGroups total variation between the loads of two of the teacher's groups, mean over pairs: 0 when all groups use
     *     the experts alike, 1 when no two share one
     * @param withinGroups total variation between two halves of one group, mean over groups: what chance alone makes
     */
    public record Point(int step, double loss, double betweenGroups, double withinGroups) {}

    /**
     * How one student learned, and what it was at the end.
     *
     * @param teacher of the student
     * @param variant of the budget
     * @param seed of teacher, start and tokens
     * @param teacherLoss what the teacher itself has on the held-out tokens, since its targets are noisy
     * @param points by step, at least one
     * @param rows accepted of the held-out tokens
     * @param budget counted in its matrices and rows
     * @param interventions losses after one change
     */
    public record Run(
            BudgetTeacher teacher,
            BudgetVariant variant,
            int seed,
            double teacherLoss,
            List<Point> points,
            Rows rows,
            Budget budget,
            Interventions interventions) {
        /**
         * Copies the list.
         *
         * @param teacher of the student
         * @param variant of the budget
         * @param seed of teacher, start and tokens
         * @param teacherLoss what the teacher itself has on the held-out tokens
         * @param points by step, at least one
         * @param rows accepted of the held-out tokens
         * @param budget counted in its matrices and rows
         * @param interventions losses after one change
         */
        public Run {
            points = List.copyOf(points);
        }

        /**
         * Before training.
         *
         * @return the first point
         */
        public Point start() {
            return points.get(0);
        }

        /**
         * After training.
         *
         * @return the last point
         */
        public Point end() {
            return points.get(points.size() - 1);
        }

        /**
         * A loss beside the teacher's.
         *
         * @param loss mean squared error on the held-out tokens
         * @return 1 for a student as good as its teacher
         */
        public double overTeacher(double loss) {
            return loss / teacherLoss;
        }

        /**
         * The loss after training beside the teacher's.
         *
         * @return 1 for a student as good as its teacher
         */
        public double ending() {
            return overTeacher(end().loss());
        }
    }

    /**
     * All seeds of a variant with a teacher.
     *
     * @param teacher of the students
     * @param variant of the budget
     * @return by seed
     * @throws NoSuchElementException when there are none
     */
    public List<Run> runs(BudgetTeacher teacher, BudgetVariant variant) {
        List<Run> found = runs.stream()
                .filter(run -> run.teacher() == teacher && run.variant() == variant)
                .toList();
        if (found.isEmpty()) {
            throw new NoSuchElementException(
                    "runs: expected those of " + teacher + " and " + variant + " but was none");
        }
        return found;
    }

    /**
     * Mean, smallest and largest over the seeds.
     *
     * @param teacher of the students
     * @param variant of the budget
     * @param reading a number of a run
     * @return statistics over the seeds
     */
    public DoubleSummaryStatistics over(BudgetTeacher teacher, BudgetVariant variant, ToDoubleFunction<Run> reading) {
        return runs(teacher, variant).stream().mapToDouble(reading).summaryStatistics();
    }

    /**
     * What speaks against the arithmetic: budgets, rows and scale before training. What is learned is measured, not demanded.
     *
     * @return one line; empty when all of it is as it has to be
     */
    public Optional<String> shortfall() {
        return Stream.concat(
                        runs.stream().flatMap(run -> shortfall(run).stream()),
                        scales.stream().filter(scale -> !scale.holds()).map(BudgetResult::line))
                .findFirst();
    }

    private Optional<String> shortfall(Run run) {
        BudgetVariant variant = run.variant();
        Rows rows = run.rows();
        Budget planned = Budget.planned(variant);
        Budget none = runs(run.teacher(), BudgetVariant.NONE).get(0).budget();
        String where = run.teacher().text() + ", " + variant.text() + ", seed " + run.seed();
        return Stream.of(
                        line(where, "routed rows", (double) rows.tokens() * variant.topK(), (double) rows.routed()),
                        line(where, "shared rows", variant.shares() ? rows.tokens() : 0, rows.shared()),
                        line(where, "stored", planned.stored(), run.budget().stored()),
                        line(where, "active", planned.active(), run.budget().active()),
                        line(
                                where,
                                "stored in experts",
                                none.stored().experts() + variant.moreStored(),
                                run.budget().stored().experts()),
                        line(
                                where,
                                "active in experts",
                                none.active().experts() + variant.moreActive(),
                                run.budget().active().experts()))
                .flatMap(Optional::stream)
                .findFirst();
    }

    private static Optional<String> line(String where, String quantity, Paths expected, Paths was) {
        return Stream.of(
                        line(where, quantity + " in router", expected.router(), was.router()),
                        line(where, quantity + " in routed experts", expected.routed(), was.routed()),
                        line(where, quantity + " in shared experts", expected.shared(), was.shared()))
                .flatMap(Optional::stream)
                .findFirst();
    }

    private static Optional<String> line(String where, String quantity, double expected, double was) {
        return expected == was
                ? Optional.empty()
                : Optional.of(
                        String.format(Locale.ROOT, "%s (%s): expected %s but was %s", quantity, where, expected, was));
    }

    private static String line(StartScale scale) {
        return String.format(
                Locale.ROOT,
                "start rms of %s, seed %d: expected %.4f ± %.4f but was %.4f",
                scale.variant().text(),
                scale.seed(),
                scale.predicted(),
                StartScale.ERRORS * scale.standardError(),
                scale.measured());
    }
}
