package org.moe4j.bench.study.mergescale;

import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.moe4j.bench.study.mergescale.MergeScaleResult.Row;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;

/**
 * What does a merge convention do to the scale of a freshly initialized layer, forward and backward?
 *
 * <p>Measures Figure 70 of the report on Olmo's MoE recipe (Section 21.3) again, through the public API of the library.
 * Tokens and the gradient of the output are standard normal; every weight is normal with standard deviation 0.01 (scaled
 * by √(2560/D) for other hidden sizes), cut off at three standard deviations. Seeds are fixed, so that the same backend
 * gives the same numbers again.
 */
public final class MergeScaleStudy {
    /** Seeds of the two halves are apart, so that a forward and a backward layer of one size are different layers. */
    private static final long FIRST_FORWARD_SEED = 1;

    private static final long FIRST_BACKWARD_SEED = 101;

    private MergeScaleStudy() {}

    /**
     * Runs the study.
     *
     * @param settings sizes, seeds, tokens
     * @param forward backend of panels a and d
     * @param backward backend of panels b and c; double precision
     * @param afterStep called after each of the {@link MergeScaleSettings#steps()} steps
     * @return the measurements
     */
    public static MergeScaleResult run(
            MergeScaleSettings settings, Backend forward, Backend backward, Runnable afterStep) {
        Map<Measure, DoubleSummaryStatistics> measured = new HashMap<>();
        for (int i = 0; i < settings.forwardSeeds(); i++) {
            add(
                    measured,
                    ForwardRun.measure(settings.forward(), forward, settings.forwardTokens(), FIRST_FORWARD_SEED + i));
            afterStep.run();
        }
        for (int i = 0; i < settings.backwardSeeds(); i++) {
            add(
                    measured,
                    BackwardRun.measure(
                            settings.backward(), backward, settings.backwardTokens(), FIRST_BACKWARD_SEED + i));
            afterStep.run();
        }
        return new MergeScaleResult(settings, forward.name(), backward.name(), rows(settings, measured));
    }

    private static void add(Map<Measure, DoubleSummaryStatistics> all, Map<Measure, Double> ofSeed) {
        ofSeed.forEach((measure, value) -> all.computeIfAbsent(measure, unused -> new DoubleSummaryStatistics())
                .accept(value));
    }

    private static List<Row> rows(MergeScaleSettings settings, Map<Measure, DoubleSummaryStatistics> measured) {
        ActiveWidths widths = ActiveWidths.of(settings.forward());
        double sumPSquared =
                statistics(measured, Measure.of(Quantity.SUM_P_SQUARED)).getAverage();
        MergeScalePrediction prediction =
                MergeScalePrediction.of(widths, ExpertShape.tokenWidth(settings.forward()), sumPSquared);
        List<ScaledMerge> conventions = Quantity.conventions(widths);
        List<Row> rows = new ArrayList<>();
        for (Quantity quantity : Quantity.values()) {
            if (quantity.perConvention()) {
                for (int i = 0; i < conventions.size(); i++) {
                    Measure measure = Measure.of(conventions.get(i), quantity);
                    double predicted = prediction.of(quantity, conventions.get(i));
                    rows.add(row(measure, statistics(measured, measure), predicted, i));
                }
            } else {
                Measure measure = Measure.of(quantity);
                rows.add(row(measure, statistics(measured, measure), prediction.of(quantity), 0));
            }
        }
        return rows;
    }

    private static Row row(Measure measure, DoubleSummaryStatistics seeds, double predicted, int convention) {
        Quantity quantity = measure.quantity();
        return new Row(
                quantity.panel(),
                measure.convention(),
                quantity.text(),
                seeds.getAverage(),
                seeds.getMin(),
                seeds.getMax(),
                Double.isNaN(predicted) ? OptionalDouble.empty() : OptionalDouble.of(predicted),
                Optional.of(quantity.published(convention)),
                quantity.exact());
    }

    private static DoubleSummaryStatistics statistics(Map<Measure, DoubleSummaryStatistics> measured, Measure measure) {
        DoubleSummaryStatistics found = measured.get(measure);
        if (found == null) {
            throw new IllegalStateException(measure + ": expected measurements but were none");
        }
        return found;
    }
}
