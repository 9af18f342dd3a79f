package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.moe4j.core.backend.Backend;

/**
 * Are several ungated shared experts one wider shared expert, where does that end, and do both forms train alike? (Section 20 and
 * Figure 68 of the report on Olmo's MoE recipe.)
 *
 * <p>One set of weights is partitioned into experts whose outputs are multiplied in four ways and added, and computed again as one
 * wide expert. The routed experts of a layer are split too. Two students with the same start, one in parts and one wide, learn the same with several optimizers. Seeds
 * are fixed, so that the same backend gives the same numbers again.
 */
public final class CollapseStudy {
    private CollapseStudy() {}

    /**
     * Runs the study.
     *
     * @param settings sizes and steps
     * @param backends where the function is compared, one after the other
     * @param learning where the layers learn, in double precision
     * @param afterMeasurement called after each of the {@link #measurements} measurements, by several threads
     * @return the measurements
     */
    public static CollapseResult run(
            CollapseSettings settings, List<Backend> backends, Backend learning, Runnable afterMeasurement) {
        List<FunctionRow> functions = new ArrayList<>();
        for (FunctionSize size : settings.sizes()) {
            for (Backend backend : backends) {
                functions.addAll(FunctionRun.run(size, backend, afterMeasurement));
            }
        }
        List<Comparison> comparisons = new ArrayList<>();
        for (Backend backend : backends) {
            comparisons.add(GradientRun.run(backend));
            comparisons.addAll(RoutedRun.run(backend));
        }
        List<Trajectory> trajectories = Arrays.stream(TrainingCase.values())
                .parallel() // they have nothing in common
                .map(training -> TrainingRun.run(training, settings, learning, afterMeasurement))
                .toList();
        return new CollapseResult(settings, functions, comparisons, learning.name(), trajectories);
    }

    /**
     * Measurements of the study, for showing progress.
     *
     * @param settings sizes and steps
     * @param backends how many of them
     * @return one per partition and backend, and one per way of training
     */
    public static int measurements(CollapseSettings settings, int backends) {
        int partitions = settings.sizes().stream()
                .mapToInt(size -> size.partitions().size())
                .sum();
        return backends * partitions + TrainingCase.values().length;
    }
}
