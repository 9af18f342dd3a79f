package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
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
 * Question: what does a whole layer cost beside the bare matrix products inside it?
 *
 * <p>Layer: OLMoE-1B-7B at full size (D 2048, F 1024, E 64, K 8), float32, random routing. Baselines: the products of the
 * same shapes, expert by expert, on two Java threads of one OpenBLAS thread each ({@link BareProducts}): once as one call
 * per weight matrix ({@code bareProducts}), once in the blocks that OpenBLAS computes fastest ({@code bareInBlocks}). The
 * layer adds the router, top-k, gather, SwiGLU and the weighted sum.
 *
 * <p>Trap: the layer cuts its products into blocks too, so that it can be faster than one call per matrix; only the second
 * baseline says what the rest of the layer costs.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx3g"})
@Warmup(iterations = 4, time = 3)
@Measurement(iterations = 6, time = 3)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class MoeLayerBenchmark {
    /** Tokens of one call. */
    @Param({"1", "64", "256"})
    public int tokens;

    private LayerSetup setup;
    private BareProducts products;
    private Matrix dOutput;

    /** For JMH. */
    public MoeLayerBenchmark() {}

    /** Makes the layer and checks it. */
    @Setup
    public void prepare() {
        setup = new LayerSetup(Preset.named("olmoe-1b-7b"), Nd4jBackend.float32(), tokens);
        setup.check();
        dOutput = setup.tokens;
        try (MoePass pass = setup.layer.forward(setup.tokens);
                Matrix output = pass.output()) {
            products = new BareProducts(setup.experts.shape(), pass.routing().tokensPerExpert());
            products.check();
            if (output.rows() != tokens) {
                throw new IllegalStateException("output: expected " + tokens + " rows but was " + output.rows());
            }
        }
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        products.close();
        setup.close();
    }

    /**
     * The whole layer, into a given buffer.
     *
     * @return the output
     */
    @Benchmark
    public Matrix apply() {
        setup.layer.applyInto(setup.tokens, setup.output);
        return setup.output;
    }

    /** The bare products, one call per weight matrix. */
    @Benchmark
    public void bareProducts() {
        products.run(false);
    }

    /** The bare products in the fastest blocks. */
    @Benchmark
    public void bareInBlocks() {
        products.run(true);
    }

    /**
     * Forward and backward with all gradients.
     *
     * @return one number, so that nothing is optimised away
     */
    @Benchmark
    public double forwardAndBackward() {
        try (MoePass pass = setup.layer.forward(setup.tokens);
                Matrix output = pass.output();
                Gradients gradients = pass.backward(dOutput)) {
            return gradients.input().get(0, 0) + output.get(0, 0);
        }
    }
}
