package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoePass;
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
 * Question: what does a whole layer cost, forward and with all gradients, on each backend and for layers of different shapes?
 *
 * <p>Layer: a random one of {@code olmoe-1b-7b} (D 2048, F 1024, E 64, K 8); also of {@code mixtral-8x7b} (6 of its 8 experts),
 * {@code qwen3-30b-a3b}, {@code deepseek-v3} (a quarter of its widths) and {@code olmo-study}, with their shared experts. Baselines:
 * the backends are each other's; {@link MoeLayerProductsBenchmark} has the bare products of the same shapes.
 *
 * <p>Trap: few tokens reach few experts, and few experts may stay in a cache; compare layers by the bytes of the experts they reach.
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
public class MoeLayerBenchmark {
    /** Where, and with which weights. */
    @Param({"vector", "vector-bf16", "nd4j"})
    public String backend;

    /** Whose shape. */
    @Param("olmoe-1b-7b")
    public String model;

    /** Tokens of one call. */
    @Param({"1", "64", "256"})
    public int tokens;

    private CheckedLayer checked;
    private Matrix input;
    private Matrix output;
    private Matrix dOutput;

    /** For JMH. */
    public MoeLayerBenchmark() {}

    /** Makes the layer and checks it. */
    @Setup
    public void prepare() {
        Preset preset = Models.named(model);
        LayerKind kind = LayerKind.named(backend);
        Backend own = kind.backend();
        checked = new CheckedLayer(preset, kind);
        input = CheckedLayer.tokens(preset, own, tokens);
        output = own.buffer(tokens, input.columns());
        dOutput = input;
        checked.check(input);
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
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
    public Matrix apply() {
        checked.layer().applyInto(input, output);
        return output;
    }

    /**
     * Forward and backward with all gradients.
     *
     * @return one number, so that nothing is optimised away
     */
    @Benchmark
    public double forwardAndBackward() {
        try (MoePass pass = checked.layer().forward(input);
                Matrix result = pass.output();
                Gradients gradients = pass.backward(dOutput)) {
            return gradients.input().get(0, 0) + result.get(0, 0);
        }
    }
}
