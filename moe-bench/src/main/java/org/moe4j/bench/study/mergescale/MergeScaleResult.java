package org.moe4j.bench.study.mergescale;

import java.math.BigDecimal;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/**
 * What the merge-scale study measured.
 *
 * @param settings sizes, seeds, tokens
 * @param forwardBackend backend of panels a and d
 * @param backwardBackend backend of panels b and c
 * @param rows panel by panel, quantity by quantity, convention by convention
 */
public record MergeScaleResult(
        MergeScaleSettings settings, String forwardBackend, String backwardBackend, List<Row> rows) {
    /** How far every seed's ratio may be from a prediction that is exact. */
    public static final double EXACT_TOLERANCE = 1e-6;

    /**
     * Copies the list.
     *
     * @param settings sizes, seeds, tokens
     * @param forwardBackend backend of panels a and d
     * @param backwardBackend backend of panels b and c
     * @param rows panel by panel, quantity by quantity, convention by convention
     */
    public MergeScaleResult {
        rows = List.copyOf(rows);
    }

    /**
     * One measured quantity of one convention.
     *
     * @param panel a to d, or {@code -} for what the figure does not plot
     * @param convention name of the merge convention; {@code dense} for the matched dense reference, {@code -} for neither
     * @param quantity what was measured
     * @param mean over the seeds
     * @param min smallest of the seeds
     * @param max largest of the seeds
     * @param predicted what the report's assumptions predict
     * @param published what the report measured, with its digits
     * @param exact whether the prediction holds for every seed to rounding
     */
    public record Row(
            String panel,
            String convention,
            String quantity,
            double mean,
            double min,
            double max,
            OptionalDouble predicted,
            Optional<BigDecimal> published,
            boolean exact) {
        /**
         * How far the measured mean is from the published one.
         *
         * @return mean minus published; empty when nothing was published
         */
        public OptionalDouble difference() {
            return published.isPresent()
                    ? OptionalDouble.of(mean - published.get().doubleValue())
                    : OptionalDouble.empty();
        }

        /** How far the worst seed is from an exact prediction; 0 when the prediction is not exact. */
        double inexactness() {
            if (!exact || predicted.isEmpty()) {
                return 0;
            }
            double expected = predicted.getAsDouble();
            return Math.max(Math.abs(min - expected), Math.abs(max - expected));
        }
    }

    /**
     * One row.
     *
     * @param convention as in the row
     * @param quantity as in the row
     * @return the row
     * @throws NoSuchElementException when there is none
     */
    public Row row(String convention, String quantity) {
        return rows.stream()
                .filter(row ->
                        row.convention().equals(convention) && row.quantity().equals(quantity))
                .findFirst()
                .orElseThrow(() -> new NoSuchElementException(
                        "row: expected one of the study but was " + convention + ", " + quantity));
    }

    /**
     * What speaks against the measurements agreeing with the published ones.
     *
     * @return one line that names the worst row; empty when every mean is within the tolerance and every exact ratio exact
     */
    public Optional<String> disagreement() {
        Row farthest = worst(MergeScaleResult::distance);
        if (distance(farthest) > settings.tolerance()) {
            return Optional.of(String.format(
                    Locale.ROOT,
                    "%s of %s: expected %s (published) within %s but was %.4f",
                    farthest.quantity(),
                    farthest.convention(),
                    farthest.published().orElseThrow().toPlainString(),
                    settings.tolerance(),
                    farthest.mean()));
        }
        Row leastExact = worst(Row::inexactness);
        if (leastExact.inexactness() > EXACT_TOLERANCE) {
            return Optional.of(String.format(
                    Locale.ROOT,
                    "%s of %s: expected %.9f within %.0e for every seed but was %.9f to %.9f",
                    leastExact.quantity(),
                    leastExact.convention(),
                    leastExact.predicted().orElseThrow(),
                    EXACT_TOLERANCE,
                    leastExact.min(),
                    leastExact.max()));
        }
        return Optional.empty();
    }

    private Row worst(ToDoubleFunction<Row> badness) {
        return rows.stream().max(Comparator.comparingDouble(badness)).orElseThrow();
    }

    /** A mean that is not a number is infinitely far. */
    private static double distance(Row row) {
        double difference = Math.abs(row.difference().orElse(0));
        return Double.isNaN(difference) ? Double.POSITIVE_INFINITY : difference;
    }
}
