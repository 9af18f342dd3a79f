package org.moe4j.bench.jmh.analysis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.moe4j.router.analysis.RoutingObserver;
import org.moe4j.router.analysis.synthetic.ExpertPopularity;
import org.moe4j.router.analysis.synthetic.SyntheticRouting;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Question: how fast is a long trace generated and measured, in how little memory? 10 million tokens of 8 of 64 experts in each of 16
 * layers, 1.28 billion assignments, drawn while they are read, on one thread in a heap of 64 MB.
 *
 * <p>The figures are nanoseconds per assignment, drawing included; with the measure {@code none}, drawing alone. An invocation takes up to a minute.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx64m"})
@Warmup(iterations = 1, time = 1)
@Measurement(iterations = 2, time = 1)
public class GeneratedTraceBenchmark {
    private static final int TOKENS = 10_000_000;
    private static final int LAYERS = 16;

    /** What is measured. */
    @Param({"none", "all"})
    public String measure = "all";

    /** For JMH. */
    public GeneratedTraceBenchmark() {}

    /**
     * The whole trace.
     *
     * @return what was observed, layer after layer
     */
    @Benchmark
    @OperationsPerInvocation(TOKENS * LAYERS * RoutingMeasures.TOP_K)
    public List<List<RoutingObserver>> trace() {
        ExpertPopularity popularity =
                ExpertPopularity.ofVariation(RoutingMeasures.EXPERTS, RoutingMeasures.TOP_K, 0.88);
        List<List<RoutingObserver>> layers = new ArrayList<>();
        for (int layer = 0; layer < LAYERS; layer++) {
            List<RoutingObserver> observers = RoutingMeasures.named(measure, TOKENS);
            SyntheticRouting.of(popularity, TOKENS, layer).stream(observers);
            layers.add(observers);
        }
        return layers;
    }
}
