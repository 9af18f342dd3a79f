package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;
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
 * Question: what does a router cost with its matrix product?
 *
 * <p>{@code routing} is all that a layer asks of its router when nobody will go backward. Baseline: {@code product}, the logits alone;
 * {@link RouterBenchmark} has what comes after it.
 *
 * <p>Trap: for one token the product reads E·D weights, which stay in a cache here and seldom do in a model of many layers.
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
public class RouterWithProductBenchmark {
    /** Where. */
    @Param({"vector", "nd4j"})
    public String backend;

    /** Whose conventions and sizes. */
    @Param({"olmoe-1b-7b", "deepseek-v3"})
    public String preset;

    /** T. */
    @Param({"1", "64", "1024"})
    public int tokens;

    private TopKRouter router;
    private Parameters parameters;
    private Matrix input;

    /** For JMH. */
    public RouterWithProductBenchmark() {}

    /** Draws the router and checks one of the logits behind its choice. */
    @Setup
    public void prepare() {
        Preset sizes = Preset.named(preset);
        LayerKind kind = LayerKind.named(backend);
        router = CheckedLayer.router(sizes, kind.backend());
        parameters = router.parameters();
        input = CheckedLayer.tokens(sizes, kind.backend(), tokens);
        if (routing().tokens() != tokens) {
            throw new IllegalStateException("routing: expected " + tokens + " tokens");
        }
        double[] w = CheckedLayer.row(weight(), 0);
        double[] x = CheckedLayer.row(input, tokens - 1);
        double expected = 0;
        double mass = 0;
        for (int i = 0; i < x.length; i++) {
            expected += w[i] * x[i];
            mass += Math.abs(w[i] * x[i]);
        }
        try (Matrix logits = logits()) {
            if (!(Math.abs(logits.get(tokens - 1, 0) - expected)
                    <= x.length * input.backend().unitRoundoff() * mass)) {
                throw new IllegalStateException(
                        "logit: expected " + expected + " but was " + logits.get(tokens - 1, 0));
            }
        }
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        input.close();
        parameters.close();
        router.close();
    }

    private Matrix weight() {
        return parameters.get("weight");
    }

    private Matrix logits() {
        return input.backend().matmulTransB(input, weight());
    }

    /**
     * The whole router.
     *
     * @return the routing
     */
    @Benchmark
    public Routing routing() {
        return router.routing(input, RoutingContext.plain());
    }

    /**
     * The baseline.
     *
     * @return the logits, released
     */
    @Benchmark
    public Matrix product() {
        Matrix logits = logits();
        logits.close();
        return logits;
    }
}
