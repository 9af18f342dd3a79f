package org.moe4j.bench.study.reparameterization;

import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * What the reparameterization study measured.
 *
 * @param settings steps and tokens
 * @param backend where it ran
 * @param runs one per optimizer
 */
public record ReparameterizationResult(ReparameterizationSettings settings, String backend, List<Run> runs) {
    /** A layer that deviates by no more, at any step, follows the original. */
    public static final double FOLLOWS = 1e-9;

    /** A layer that deviates by as much, at some step, does not. */
    public static final double PARTS = 1e-8;

    /**
     * Copies the list.
     *
     * @param settings steps and tokens
     * @param backend where it ran
     * @param runs one per optimizer
     */
    public ReparameterizationResult {
        runs = List.copyOf(runs);
    }

    /**
     * One optimizer: how the original learned with it, and the rewritten layers beside it.
     *
     * @param descent the optimizer
     * @param startLoss mean squared error of the original on held-out tokens before training
     * @param endLoss the same after training
     * @param closest smallest distance between the logits of a selected and an unselected expert of a token, in the training of the
     *     originals
     * @param clipped share of the steps in which the original that clips did so
     * @param lines of the rewritten layers: by treatment and convention
     */
    public record Run(
            Descent descent, double startLoss, double endLoss, double closest, double clipped, List<Line> lines) {
        /**
         * Copies the list.
         *
         * @param descent the optimizer
         * @param startLoss mean squared error of the original on held-out tokens before training
         * @param endLoss the same after training
         * @param closest smallest distance between the logits of a selected and an unselected expert of a token, in the training of the
         *     originals
         * @param clipped share of the steps in which the original that clips did so
         * @param lines of the rewritten layers: by treatment and convention
         */
        public Run {
            lines = List.copyOf(lines);
        }

        /**
         * The lines of one treatment.
         *
         * @param treatment what the layers were trained with
         * @return one per convention; none where the optimizer does not have the treatment
         */
        public List<Line> lines(Treatment treatment) {
            return lines.stream().filter(line -> line.treatment() == treatment).toList();
        }
    }

    /**
     * How one rewritten layer went along with the original.
     *
     * @param treatment what it was trained with
     * @param convention what it was rewritten to
     * @param routed c of the routed down projections
     * @param shared c of the shared down projection
     * @param points by step, at least one
     */
    public record Line(Treatment treatment, String convention, double routed, double shared, List<Point> points) {
        /**
         * Copies the list.
         *
         * @param treatment what it was trained with
         * @param convention what it was rewritten to
         * @param routed c of the routed down projections
         * @param shared c of the shared down projection
         * @param points by step, at least one
         */
        public Line {
            points = List.copyOf(points);
        }

        /**
         * The largest over the steps.
         *
         * @param reading of a point
         * @return at least 0; NaN when one is
         */
        public double most(ToDoubleFunction<Point> reading) {
            return points.stream().mapToDouble(reading).reduce(0, Math::max);
        }

        /**
         * Whether both factors are powers of two, times which every number keeps its digits.
         *
         * @return true where a layer that follows does so to the bit
         */
        public boolean isExact() {
            return isPowerOfTwo(routed) && isPowerOfTwo(shared);
        }

        private static boolean isPowerOfTwo(double factor) {
            return Math.scalb(1.0, Math.getExponent(factor)) == factor;
        }

        private Optional<String> shortfall() {
            double most = most(Point::largest);
            if (treatment.follows()) {
                double limit = isExact() ? 0 : FOLLOWS;
                return most <= limit ? Optional.empty() : Optional.of(line("at most", limit, most));
            }
            return most >= PARTS ? Optional.empty() : Optional.of(line("at least", PARTS, most));
        }

        private String line(String bound, double limit, double was) {
            return String.format(
                    Locale.ROOT,
                    "deviation of %s, %s: expected %s %.0e but was %.1e",
                    convention,
                    treatment.text(),
                    bound,
                    limit,
                    was);
        }
    }

    /**
     * How far a rewritten layer is from the original at one step.
     *
     * @param step from 0, before training
     * @param function largest difference of the outputs on held-out tokens, over the largest output of the original
     * @param parameters largest difference of a matrix divided by its factor, over its largest entry in the original; of all
     *     matrices the largest
     */
    public record Point(int step, double function, double parameters) {
        double largest() {
            return Math.max(function, parameters);
        }
    }

    /**
     * One of the optimizers.
     *
     * @param descent the optimizer
     * @return its run
     * @throws NoSuchElementException when there is none
     */
    public Run run(Descent descent) {
        return runs.stream()
                .filter(run -> run.descent() == descent)
                .findFirst()
                .orElseThrow(() ->
                        new NoSuchElementException("descent: expected one of the study but was " + descent.text()));
    }

    /**
     * All lines of one treatment.
     *
     * @param treatment what the layers were trained with
     * @return by optimizer and convention
     */
    public Stream<Line> lines(Treatment treatment) {
        return runs.stream().flatMap(run -> run.lines(treatment).stream());
    }

    /**
     * What speaks against the factors, or against their being needed.
     *
     * @return one line; empty when every layer that has to follow does, to the bit where the factors are powers of two, and
     *     every other one does not
     */
    public Optional<String> shortfall() {
        return runs.stream()
                .flatMap(run -> run.lines().stream()
                        .flatMap(line -> line.shortfall().stream())
                        .map(line -> run.descent().text() + ": " + line))
                .findFirst();
    }
}
