package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;
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
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Question: what does a router cost per token after its matrix product? Everything: logits out of the product's float32 matrix,
 * their check, scores, bias, groups, top-k, renormalisation, scale, and the checked routing.
 *
 * <p>1,024 tokens with standard normal logits, a selection bias of deviation 0.01 where the model has one, one thread. The figures
 * are nanoseconds per token.
 *
 * <p>Trap: fewer different tokens let the processor learn their branches by heart.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(
        value = 2,
        jvmArgsAppend = {"-Xmx1g"})
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 6, time = 1)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class RouterBenchmark {
    private static final int TOKENS = 1024;

    /** Whose conventions. */
    @Param({"megatron-nemotron-3-super", "deepseek-v3", "kimi-k2", "qwen3-next-80b-a3b", "olmoe-1b-7b"})
    public String preset;

    private RouterConfig config;
    private SelectionBias bias;
    private Matrix product;
    private double[] logits;

    /** For JMH. */
    public RouterBenchmark() {}

    /** Draws the logits. */
    @Setup
    public void prepare() {
        config = RouterConfig.from(Preset.named(preset));
        Nd4jBackend backend = Nd4jBackend.float32();
        product = Initializer.normal(1).draw(backend, TOKENS, config.experts(), 1);
        logits = product.toArray();
        try (Matrix drawn = Initializer.normal(0.01).draw(backend, 1, config.experts(), 2)) {
            bias = SelectionBias.of(drawn.toArray());
        }
        if (afterProduct().tokens() != TOKENS) {
            throw new IllegalStateException("routing: expected " + TOKENS + " tokens");
        }
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        product.close();
    }

    /**
     * Everything after the product.
     *
     * @return the routing
     */
    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public Routing afterProduct() {
        return config.selectionBias() ? config.routing(product, bias) : config.routing(product);
    }

    /**
     * The same from logits that are there in double precision.
     *
     * @return the routing
     */
    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public Routing fromDoubles() {
        return config.selectionBias() ? config.routing(logits, bias) : config.routing(logits);
    }
}
