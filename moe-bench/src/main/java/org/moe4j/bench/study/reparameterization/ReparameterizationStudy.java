package org.moe4j.bench.study.reparameterization;

import java.util.List;
import java.util.stream.Stream;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Run;
import org.moe4j.core.backend.Backend;

/**
 * Which training settings follow a layer whose merge factors moved into its down projections?
 *
 * <p>A layer under one merge convention, and the same function under another one with its down projections multiplied by constants,
 * learn from the same tokens. Where the settings and the state of the optimizer are multiplied by what {@link
 * org.moe4j.merge.rewrite.Rescaling} says, both should stay the same function; where one of them is not, they should part. Seeds
 * are fixed, so that the same backend gives the same numbers again.
 */
public final class ReparameterizationStudy {
    private ReparameterizationStudy() {}

    /**
     * Runs the study.
     *
     * @param settings steps and tokens
     * @param backend where the layers run
     * @param afterStep called after each of the {@link ReparameterizationSettings#progress()} steps, by several threads
     * @return the measurements
     */
    public static ReparameterizationResult run(
            ReparameterizationSettings settings, Backend backend, Runnable afterStep) {
        List<Run> runs = Stream.of(Descent.values())
                .parallel() // optimizers have nothing in common
                .map(descent -> ReparameterizationRun.run(settings, descent, backend, afterStep))
                .toList();
        return new ReparameterizationResult(settings, backend.name(), runs);
    }
}
