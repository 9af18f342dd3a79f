package org.moe4j.bench.study.budget;

import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.moe4j.bench.study.budget.BudgetResult.Run;
import org.moe4j.core.backend.Backend;

/**
 * What does a shared expert change at equal tokens and an equal training objective?
 *
 * <p>Students without a shared expert, with one on top of the routed budget and with one taken out of it learn from the noisy
 * targets of a teacher layer: of one that has a part common to all tokens, and of one that has none. All see the same tokens. Seeds
 * are fixed, so that the same backend gives the same numbers again.
 */
public final class BudgetStudy {
    private BudgetStudy() {}

    /**
     * Runs the study.
     *
     * @param settings seeds and steps
     * @param backend where the layers run
     * @param afterMeasurement called after each of the {@link BudgetSettings#measurements()} measurements, by several threads
     * @return the measurements
     */
    public static BudgetResult run(BudgetSettings settings, Backend backend, Runnable afterMeasurement) {
        List<Job> jobs = Stream.of(BudgetTeacher.values())
                .flatMap(teacher -> IntStream.rangeClosed(1, settings.seeds()).mapToObj(seed -> new Job(teacher, seed)))
                .toList();
        List<Run> runs = jobs.parallelStream() // teachers and seeds have nothing in common
                .map(job -> BudgetRun.run(settings, backend, job.teacher(), job.seed(), afterMeasurement))
                .flatMap(List::stream)
                .sorted(Comparator.comparing(Run::teacher)
                        .thenComparing(Run::variant)
                        .thenComparing(Run::seed))
                .toList();
        List<StartScale> scales = Stream.of(BudgetVariant.values())
                .flatMap(variant -> IntStream.rangeClosed(1, settings.seeds())
                        .mapToObj(seed -> StartScale.measure(variant, backend, seed, settings.starts())))
                .toList();
        return new BudgetResult(settings, backend.name(), runs, scales);
    }

    private record Job(BudgetTeacher teacher, int seed) {}
}
