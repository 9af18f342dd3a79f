package org.moe4j.bench.jmh.analysis;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingObserver;
import org.moe4j.router.analysis.RoutingSource;
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
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Question: what does a measure of a routing cost per assignment, experts being in memory, on one thread?
 *
 * <p>65,536 tokens of 8 of 64 experts, whose load has a coefficient of variation of 0.88, in blocks that are copied and checked; the figures are
 * nanoseconds per assignment, 50 being 20 million assignments a second.
 *
 * <p>Trap: fewer different tokens let the processor learn their branches by heart.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(
        value = 2,
        jvmArgsAppend = {"-Xmx256m"})
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 6, time = 1)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class RoutingAnalysisBenchmark {
    private static final int TOKENS = 1 << 16;
    private static final int BLOCK = RoutingSource.BLOCK;
    private static final int SLOTS = BLOCK * RoutingMeasures.TOP_K;

    /** What is measured. */
    @Param({"none", "load", "halves", "collapse", "coactivation", "devices", "lru", "lfu", "all"})
    public String measure;

    private int[] indices;
    private int[] room;
    private List<RoutingObserver> observers;

    /** For JMH. */
    public RoutingAnalysisBenchmark() {}

    /** Draws the tokens. */
    @Setup
    public void prepare() {
        ExpertPopularity popularity =
                ExpertPopularity.ofVariation(RoutingMeasures.EXPERTS, RoutingMeasures.TOP_K, 0.88);
        ChosenExperts drawn = SyntheticRouting.of(popularity, TOKENS, 1).block(0, TOKENS);
        indices = new int[drawn.slots()];
        for (int slot = 0; slot < indices.length; slot++) {
            indices[slot] = drawn.expert(slot);
        }
        room = new int[SLOTS];
        observers = RoutingMeasures.named(measure, TOKENS);
    }

    /**
     * All tokens once.
     *
     * @return the observers
     */
    @Benchmark
    @OperationsPerInvocation(TOKENS * RoutingMeasures.TOP_K)
    public List<RoutingObserver> stream() {
        for (int from = 0; from < indices.length; from += SLOTS) {
            System.arraycopy(indices, from, room, 0, SLOTS);
            ChosenExperts block = ChosenExperts.of(RoutingMeasures.EXPERTS, RoutingMeasures.TOP_K, BLOCK, room);
            for (RoutingObserver observer : observers) {
                observer.add(block);
            }
        }
        return observers;
    }
}
