package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.bench.limits.PlainExpert;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.preset.Preset;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Question: what does a skewed routing cost beside an even one of as many rows?
 *
 * <p>The experts of {@code olmoe-1b-7b} (D 2048, F 1024, E 64) alone, on 2048 rows. Baseline: {@code even}, 32 rows for each expert.
 * {@code busiest}: the busiest expert has 5.7 times an even share, and each following one the same fraction of the one before.
 * {@code half}: one expert has half of the rows, the others share the rest.
 *
 * <p>Trap: a skewed routing is less to read, as experts with few rows are cheap, and more to wait for, when one expert is the work of one
 * thread; it can come out on either side of 1.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx6g", ForkOptions.MODULE, ForkOptions.IF_KNOWN, ForkOptions.HUGE_PAGES})
@Warmup(iterations = 4, time = 2)
@Measurement(iterations = 6, time = 2)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class SkewBenchmark {
    private static final int ROWS = 2048;
    private static final double BUSIEST = 5.7;

    /** Where, and with which weights. */
    @Param({"vector", "vector-bf16", "nd4j"})
    public String backend;

    /** How the rows are spread. */
    @Param({"even", "busiest", "half"})
    public String spread;

    private FeedForwardExperts experts;
    private Matrix input;
    private int[] rows;
    private RowGroups groups;

    /** For JMH. */
    public SkewBenchmark() {}

    /** Makes the experts and checks the first row of the first. */
    @Setup
    public void prepare() {
        Preset preset = Models.named("olmoe-1b-7b");
        LayerKind kind = LayerKind.named(backend);
        Backend own = kind.backend();
        ExpertShape shape = ExpertShape.routed(preset);
        experts = kind.experts(shape, 1);
        input = CheckedLayer.tokens(preset, own, ROWS);
        rows = new int[ROWS];
        for (int i = 0; i < ROWS; i++) {
            rows[i] = ROWS - 1 - i;
        }
        groups = RowGroups.ofSizes(sizes(spread, shape.count()));
        check();
    }

    private void check() {
        double[] x = CheckedLayer.row(input, ROWS - 1);
        double[] expected = new double[x.length];
        PlainExpert.of(experts, 0).add(1, x, expected);
        try (Matrix output = experts.apply(input, rows, groups)) {
            CheckedLayer.compare(
                    expected, CheckedLayer.row(output, 0), input.backend().unitRoundoff());
        }
    }

    /** Rows of each expert, the busiest first; they add up. */
    static int[] sizes(String spread, int experts) {
        double[] shares = new double[experts];
        for (int e = 0; e < experts; e++) {
            shares[e] = switch (spread) {
                case "even" -> 1.0 / experts;
                case "half" -> e == 0 ? 0.5 : 0.5 / (experts - 1);
                case "busiest" -> BUSIEST / experts * Math.pow(fraction(experts), e);
                default ->
                    throw new IllegalArgumentException("spread: expected even, busiest or half but was " + spread);
            };
        }
        int[] sizes = new int[experts];
        double until = 0;
        int given = 0;
        for (int e = 0; e < experts; e++) {
            until += shares[e];
            int end = e + 1 == experts ? ROWS : (int) Math.round(ROWS * until);
            sizes[e] = end - given;
            given = end;
        }
        return sizes;
    }

    /** From one expert to the next, so that all shares add up to 1: bisection. */
    private static double fraction(int experts) {
        double low = 0;
        double high = 1;
        for (int step = 0; step < Double.SIZE; step++) {
            double middle = (low + high) / 2;
            double sum = BUSIEST / experts * (1 - Math.pow(middle, experts)) / (1 - middle);
            if (sum < 1) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        input.close();
        experts.close();
    }

    /**
     * The experts.
     *
     * @return their output, released
     */
    @Benchmark
    public Matrix apply() {
        Matrix output = experts.apply(input, rows, groups);
        output.close();
        return output;
    }
}
