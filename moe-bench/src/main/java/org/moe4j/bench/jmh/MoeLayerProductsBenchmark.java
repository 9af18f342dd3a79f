package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.nd4j.Nd4jBackend;
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
 * Question: how fast are the bare products of the routed experts inside the layer of {@link MoeLayerBenchmark} in OpenBLAS?
 *
 * <p>The baselines of that benchmark: the products of the same rows for each expert, on two Java threads of one OpenBLAS thread each
 * ({@link BareProducts}), once as one call per weight matrix ({@code bareProducts}), once in the blocks that OpenBLAS computes fastest
 * ({@code bareInBlocks}). A layer adds router, top-k, gather, activation and the weighted sum.
 *
 * <p>Trap: a layer cuts its products into blocks too, so that it can be faster than one call per matrix; only the second baseline says
 * what the rest of a layer costs.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx12g", ForkOptions.MODULE, ForkOptions.IF_KNOWN, ForkOptions.HUGE_PAGES})
@Warmup(iterations = 4, time = 3)
@Measurement(iterations = 6, time = 3)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class MoeLayerProductsBenchmark {
    /** Whose shape. */
    @Param("olmoe-1b-7b")
    public String model;

    /** Tokens of one call. */
    @Param({"1", "64", "256"})
    public int tokens;

    private BareProducts products;

    /** For JMH. */
    public MoeLayerProductsBenchmark() {}

    /** Routes the tokens, so that each expert has the rows it has in the layer. */
    @Setup
    public void prepare() {
        Preset preset = Models.named(model);
        Nd4jBackend backend = Nd4jBackend.float32();
        try (TopKRouter router = CheckedLayer.router(preset, backend);
                Matrix input = CheckedLayer.tokens(preset, backend, tokens)) {
            int[] rows = router.routing(input, RoutingContext.plain()).tokensPerExpert();
            products = new BareProducts(ExpertShape.routed(preset), rows);
        }
        products.check();
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        products.close();
    }

    /** One call per weight matrix. */
    @Benchmark
    public void bareProducts() {
        products.run(false);
    }

    /** In the fastest blocks. */
    @Benchmark
    public void bareInBlocks() {
        products.run(true);
    }
}
