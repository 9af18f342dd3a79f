package org.moe4j.bench.jmh.analysis;

import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.moe4j.router.analysis.BatchCollapse;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.CoActivation;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.PassageUsage;
import org.moe4j.router.analysis.RoutingObserver;
import org.moe4j.router.analysis.cache.LfuSimulation;
import org.moe4j.router.analysis.cache.LruSimulation;
import org.moe4j.router.analysis.device.DevicePlacement;
import org.moe4j.router.analysis.device.DeviceSpread;
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
 * <p>65,536 tokens of 8 of 64 experts, in blocks; the figures are nanoseconds per assignment, 50 being 20 million assignments a second.
 *
 * <p>Trap: fewer different tokens let the processor learn their branches by heart.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(
        value = 2,
        jvmArgsAppend = {"-Xmx512m"})
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 6, time = 1)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class RoutingAnalysisBenchmark {
    private static final int TOKENS = 1 << 16;
    private static final int EXPERTS = 64;
    private static final int TOP_K = 8;
    private static final int BLOCK = 4096;
    private static final int CACHED = 16;
    private static final List<Integer> DEVICES = List.of(2, 4, 8, 16);
    private static final List<String> MEASURES =
            List.of("load", "halves", "collapse", "coactivation", "devices", "lru", "lfu");

    /** What is measured. */
    @Param({"checking", "load", "halves", "collapse", "coactivation", "devices", "lru", "lfu", "all"})
    public String measure;

    private int[] indices;
    private int[] room;
    private List<RoutingObserver> observers;

    /** For JMH. */
    public RoutingAnalysisBenchmark() {}

    /** Draws the tokens. */
    @Setup
    public void prepare() {
        SplittableRandom random = new SplittableRandom(1);
        indices = new int[TOKENS * TOP_K];
        room = new int[BLOCK * TOP_K];
        for (int t = 0; t < TOKENS; t++) {
            long chosen = 0;
            for (int rank = 0; rank < TOP_K; ) {
                int expert = Math.min(random.nextInt(EXPERTS), random.nextInt(EXPERTS));
                if ((chosen & 1L << expert) == 0) {
                    chosen |= 1L << expert;
                    indices[t * TOP_K + rank++] = expert;
                }
            }
        }
        observers = measure.equals("all")
                ? MEASURES.stream().flatMap(name -> observers(name).stream()).toList()
                : observers(measure);
    }

    private static List<RoutingObserver> observers(String measure) {
        return switch (measure) {
            case "load" -> List.of(new ExpertLoad.Counter(EXPERTS));
            case "halves" -> List.of(new PassageUsage.Counter(EXPERTS, TOKENS));
            case "collapse" -> List.of(new BatchCollapse.Counter(EXPERTS));
            case "coactivation" -> List.of(new CoActivation.Counter(EXPERTS));
            case "devices" ->
                DEVICES.stream()
                        .<RoutingObserver>map(n -> new DeviceSpread(DevicePlacement.contiguous(EXPERTS, n)))
                        .toList();
            case "lru" -> List.of(new LruSimulation(EXPERTS));
            case "lfu" -> List.of(new LfuSimulation(EXPERTS, CACHED, LfuSimulation.Counts.KEPT));
            default -> List.of();
        };
    }

    /**
     * All tokens once.
     *
     * @return the observers
     */
    @Benchmark
    @OperationsPerInvocation(TOKENS * TOP_K)
    public List<RoutingObserver> stream() {
        for (int from = 0; from < TOKENS; from += BLOCK) {
            System.arraycopy(indices, from * TOP_K, room, 0, room.length);
            ChosenExperts block = ChosenExperts.of(EXPERTS, TOP_K, BLOCK, room);
            for (RoutingObserver observer : observers) {
                observer.add(block);
            }
        }
        return observers;
    }
}
