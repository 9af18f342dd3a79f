package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.TopKRouter;
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
 * Question: what do planning, dispatch and combine cost alone?
 *
 * <p>Tokens of {@code olmoe-1b-7b} (D 2048, E 64, K 8), dropless. {@code plan} is the counting sort, {@code gathered} the rows of dispatch,
 * {@code combined} the weighted sum of T·K rows back to T. Baseline: {@code copy}, as many rows copied in the same order from one array to another,
 * on one thread.
 *
 * <p>Trap: both backends run these loops on several threads when there is enough to do; the baseline never does.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx3g", ForkOptions.MODULE, ForkOptions.IF_KNOWN, ForkOptions.HUGE_PAGES})
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 6, time = 1)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class DispatchBenchmark {
    /** Where. */
    @Param({"vector", "nd4j"})
    public String backend;

    /** T. */
    @Param({"1", "64", "1024"})
    public int tokens;

    private Routing routing;
    private DispatchPlan plan;
    private Matrix input;
    private Matrix rows;
    private int[] sources;
    private float[] from;
    private float[] into;

    /** For JMH. */
    public DispatchBenchmark() {}

    /** Routes the tokens, and checks dispatch and combine on the last. */
    @Setup
    public void prepare() {
        Preset preset = Models.named("olmoe-1b-7b");
        LayerKind kind = LayerKind.named(backend);
        input = CheckedLayer.tokens(preset, kind.backend(), tokens);
        try (TopKRouter router = CheckedLayer.router(preset, kind.backend())) {
            routing = router.routing(input, RoutingContext.plain());
        }
        plan = plan();
        rows = dispatch();
        sources = plan.rows();
        from = new float[tokens * input.columns()];
        into = new float[sources.length * input.columns()];
        check();
    }

    private void check() {
        int last = tokens - 1;
        double[] x = CheckedLayer.row(input, last);
        double mass = 0;
        for (int rank = 0; rank < routing.count(last); rank++) {
            mass += routing.weight(last, rank);
        }
        double[] expected = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            expected[i] = mass * x[i];
        }
        try (Matrix combined = combine()) {
            CheckedLayer.compare(
                    expected, CheckedLayer.row(combined, last), input.backend().unitRoundoff());
        }
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        rows.close();
        input.close();
    }

    /**
     * The counting sort.
     *
     * @return the plan
     */
    @Benchmark
    public DispatchPlan plan() {
        return DispatchPlan.of(routing, Capacity.dropless());
    }

    /**
     * Tokens to rows.
     *
     * @return the rows, released
     */
    @Benchmark
    public Matrix gathered() {
        Matrix result = dispatch();
        result.close();
        return result;
    }

    private Matrix dispatch() {
        return plan.dispatch(input);
    }

    /**
     * Rows to tokens.
     *
     * @return the sums, released
     */
    @Benchmark
    public Matrix combined() {
        Matrix result = combine();
        result.close();
        return result;
    }

    private Matrix combine() {
        return plan.combine(rows);
    }

    /**
     * The baseline.
     *
     * @return where the rows went
     */
    @Benchmark
    public float[] copy() {
        int width = input.columns();
        for (int i = 0; i < sources.length; i++) {
            System.arraycopy(from, sources[i] * width, into, i * width, width);
        }
        return into;
    }
}
