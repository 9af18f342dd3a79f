package org.moe4j.bench.jmh;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.RoutingContext;
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
 * Question: what part of a layer is not its experts: router, plan, weighted sum and merge?
 *
 * <p>A random layer of {@code olmo-study} (D 2560, F 2560, E 48, K 4, a shared expert of 1280). Baseline: {@code experts}, the routed and
 * the shared experts alone, on the rows that they have in the layer. {@code 1 - experts / layer} is the part that is something else;
 * {@code router}, {@code plan} and {@code combine} are pieces of it, each alone.
 *
 * <p>Trap: experts gather their rows while they pack them, so that the gather is in {@code experts}; and a backend may add the weighted
 * rows up within the experts, so that the pieces do not have to add up to the difference.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx12g", ForkOptions.MODULE, ForkOptions.IF_KNOWN, ForkOptions.HUGE_PAGES})
@Warmup(iterations = 3, time = 3)
@Measurement(iterations = 5, time = 3)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class LayerStagesBenchmark {
    /** Where, and with which weights. */
    @Param({"vector", "vector-bf16", "nd4j"})
    public String backend;

    /** Whose shape. */
    @Param("olmo-study")
    public String model;

    /** Tokens of one call. */
    @Param({"256", "1024"})
    public int tokens;

    private CheckedLayer checked;
    private MoeLayer layer;
    private Matrix input;
    private Matrix output;
    private Matrix rows;
    private Routing routing;
    private DispatchPlan plan;
    private int[] all;

    /** For JMH. */
    public LayerStagesBenchmark() {}

    /** Makes the layer and checks it. */
    @Setup
    public void prepare() {
        Preset preset = Models.named(model);
        LayerKind kind = LayerKind.named(backend);
        Backend own = kind.backend();
        checked = new CheckedLayer(preset, kind);
        layer = checked.layer();
        input = CheckedLayer.tokens(preset, own, tokens);
        output = own.buffer(tokens, input.columns());
        checked.check(input);
        routing = route();
        plan = plan();
        rows = layer.experts().apply(input, plan.rows(), plan.groups());
        all = IntStream.range(0, tokens).toArray();
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        rows.close();
        output.close();
        input.close();
        checked.close();
    }

    /**
     * The whole layer, into a given buffer.
     *
     * @return the output
     */
    @Benchmark
    public Matrix layer() {
        layer.applyInto(input, output);
        return output;
    }

    /**
     * The baseline: routed and shared experts alone.
     *
     * @return their outputs, released
     */
    @Benchmark
    public List<Matrix> experts() {
        Matrix routed = layer.experts().apply(input, plan.rows(), plan.groups());
        List<Matrix> shared = layer.shared().stream()
                .flatMap(branch -> branch.experts().stream())
                .map(experts -> experts.apply(input, all, RowGroups.ofSizes(new int[] {tokens})))
                .toList();
        routed.close();
        shared.forEach(Matrix::close);
        return shared;
    }

    /**
     * Logits, scores, choice and weights.
     *
     * @return the routing
     */
    @Benchmark
    public Routing router() {
        return route();
    }

    private Routing route() {
        return layer.router().routing(input, RoutingContext.plain());
    }

    /**
     * Which row belongs to which expert.
     *
     * @return the plan
     */
    @Benchmark
    public DispatchPlan plan() {
        return DispatchPlan.of(routing, Capacity.dropless());
    }

    /**
     * The weighted sum of rows that are there.
     *
     * @return the sums, released
     */
    @Benchmark
    public Matrix combine() {
        Matrix sums = plan.combine(rows);
        sums.close();
        return sums;
    }
}
