package org.moe4j.bench.study.balancing;

import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What the balancing study measured.
 *
 * @param settings seeds and steps
 * @param backend where it ran
 * @param runs method by method, seed by seed
 */
public record BalancingResult(BalancingSettings settings, String backend, List<Run> runs) {
    /** The part of the start's imbalance that balancing may leave. */
    public static final double LEFT_IMBALANCE = 0.5;

    /** A student has reached its teacher at this many times its teacher's loss. */
    public static final double REACHED = 1.05;

    /**
     * Copies the list.
     *
     * @param settings seeds and steps
     * @param backend where it ran
     * @param runs method by method, seed by seed
     */
    public BalancingResult {
        runs = List.copyOf(runs);
    }

    /**
     * A student on the held-out tokens at one step.
     *
     * @param step from 0, before training
     * @param maxOverMean tokens of the fullest expert over the mean
     * @param variation standard deviation of the experts' tokens over the mean
     * @param loss mean squared error
     */
    public record Point(int step, double maxOverMean, double variation, double loss) {}

    /**
     * How one student learned.
     *
     * @param method of balancing
     * @param seed of teacher, start and tokens
     * @param teacherLoss what the teacher itself has on the held-out tokens, since its targets are noisy
     * @param points by step, at least one
     */
    public record Run(BalancingMethod method, int seed, double teacherLoss, List<Point> points) {
        /**
         * Copies the list.
         *
         * @param method of balancing
         * @param seed of teacher, start and tokens
         * @param teacherLoss what the teacher itself has on the held-out tokens
         * @param points by step, at least one
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
         * A student's loss beside its teacher's.
         *
         * @param point of this run
         * @return 1 for a student as good as its teacher
         */
        public double lossOverTeacher(Point point) {
            return point.loss() / teacherLoss;
        }

        /**
         * When the student reached its teacher.
         *
         * @return the first measured step with a loss of at most {@link #REACHED} times the teacher's; empty for never
         */
        public OptionalInt reachedAt() {
            return points.stream()
                    .filter(point -> lossOverTeacher(point) <= REACHED)
                    .mapToInt(Point::step)
                    .findFirst();
        }
    }

    /** A number of a point of a run. */
    @FunctionalInterface
    public interface Reading {
        /**
         * Reads it.
         *
         * @param run of the point
         * @param point what was measured
         * @return a number
         */
        double of(Run run, Point point);
    }

    /**
     * All seeds of a method.
     *
     * @param method of balancing
     * @return by seed
     * @throws NoSuchElementException when there are none
     */
    public List<Run> runs(BalancingMethod method) {
        List<Run> found = runs.stream().filter(run -> run.method() == method).toList();
        if (found.isEmpty()) {
            throw new NoSuchElementException("method: expected one of the study but was " + method);
        }
        return found;
    }

    /**
     * Mean, smallest and largest over the seeds of a method.
     *
     * @param method of balancing
     * @param index of the point, from 0
     * @param reading the number
     * @return statistics over the seeds
     */
    public DoubleSummaryStatistics over(BalancingMethod method, int index, Reading reading) {
        return runs(method).stream()
                .mapToDouble(run -> reading.of(run, run.points().get(index)))
                .summaryStatistics();
    }

    /**
     * What speaks against both methods of balancing doing what they are for.
     *
     * @return one line that names a seed; empty when every balanced student halved both measures of imbalance and reached its
     *     teacher
     */
    public Optional<String> shortfall() {
        return runs.stream()
                .filter(run -> run.method().balances())
                .flatMap(run -> shortfall(run).stream())
                .findFirst();
    }

    private static Optional<String> shortfall(Run run) {
        Point start = run.start();
        Point end = run.end();
        if (!(end.maxOverMean() <= LEFT_IMBALANCE * start.maxOverMean())) {
            return Optional.of(line(run, "max_over_mean", LEFT_IMBALANCE * start.maxOverMean(), end.maxOverMean()));
        }
        if (!(end.variation() <= LEFT_IMBALANCE * start.variation())) {
            return Optional.of(line(run, "variation", LEFT_IMBALANCE * start.variation(), end.variation()));
        }
        if (!(run.lossOverTeacher(end) <= REACHED)) {
            return Optional.of(line(run, "loss_over_teacher", REACHED, run.lossOverTeacher(end)));
        }
        return Optional.empty();
    }

    private static String line(Run run, String quantity, double most, double was) {
        return String.format(
                Locale.ROOT,
                "%s of %s, seed %d: expected at most %.4f but was %.4f",
                quantity,
                run.method().text(),
                run.seed(),
                most,
                was);
    }
}
