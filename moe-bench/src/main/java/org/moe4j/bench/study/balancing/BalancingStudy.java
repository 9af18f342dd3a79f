package org.moe4j.bench.study.balancing;

import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.bench.study.balancing.BalancingResult.Run;
import org.moe4j.core.backend.Backend;

/**
 * Does an MoE layer learn a teacher's mixture from an uneven start, and what does balancing cost?
 *
 * <p>A teacher layer, whose experts are equally likely by construction, gives noisy targets for random tokens. A student of
 * the same kind, whose router favours two of the experts, learns from them by Adam: without balancing, with a load-balancing
 * loss, and with a selection bias. All three have the same start and see the same tokens. Seeds are fixed, so that the same
 * backend gives the same numbers again.
 */
public final class BalancingStudy {
    private BalancingStudy() {}

    /**
     * Runs the study.
     *
     * @param settings seeds and steps
     * @param backend where the layers run
     * @param afterMeasurement called after each of the {@link BalancingSettings#measurements()} measurements, by several threads
     * @return the measurements
     */
    public static BalancingResult run(BalancingSettings settings, Backend backend, Runnable afterMeasurement) {
        List<Run> runs = IntStream.rangeClosed(1, settings.seeds())
                .parallel() // seeds have nothing in common
                .mapToObj(seed -> BalancingRun.run(settings, backend, seed, afterMeasurement))
                .flatMap(List::stream)
                .sorted(Comparator.comparing(Run::method).thenComparing(Run::seed))
                .toList();
        return new BalancingResult(settings, backend.name(), runs);
    }
}
