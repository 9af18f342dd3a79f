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
 * {@code qwen3-30b-a3b}, {@code deepseek-v3} (a quarter of its widths) and {@code olmo-study}, with their shared experts; 1, 64 and 256
 * tokens unless asked for others, as {@code --param tokens=1024}. Baselines: the backends are each other's;
 * {@link MoeLayerProductsBenchmark} has the bare products of the same shapes.
 *
 * <ul>
 *   <li>{@code apply} keeps nothing for backward.
 *   <li>{@code forwardKept} keeps what backward needs, and is closed: what comes before a backward.
 *   <li>{@code forwardAndBackwardInto} goes on with a backward that adds the gradients of all parameters into buffers that are there, as a
 *       training loop does. The difference to {@code forwardKept} is the backward.
 *   <li>{@code forwardAndBackward} makes matrices for all gradients in each call (1.6 GB for {@code olmoe-1b-7b}). The difference to
 *       {@code forwardAndBackwardInto} is new memory instead of old.
 * </ul>
 *
 * <p>Trap: few tokens reach few experts, and few experts may stay in a cache; compare layers by the bytes of the experts they reach. A
 * backward into buffers touches those of the reached experts alone, one with new matrices makes zeros for all.
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

    /** Tokens of one call; any number may be asked for. */
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
     * Forward, keeping what backward needs.
     *
     * @return one number, so that nothing is optimised away
     */
    @Benchmark
    public double forwardKept() {
        try (MoePass pass = checked.layer().forward(input);
                Matrix result = pass.output()) {
            return result.get(0, 0);
        }
    }

    /** Buffers, in the memory of the benchmark that uses them alone. */
    @State(Scope.Benchmark)
    @SuppressWarnings("NullAway.Init") // JMH calls prepare() first
    public static class Buffers {
        private GradientBuffers gradients;

        /** For JMH. */
        public Buffers() {}

        /**
         * Makes the buffers and checks what is added.
         *
         * @param benchmark with its layer
         */
        @Setup
        public void prepare(MoeLayerBenchmark benchmark) {
            gradients = GradientBuffers.of(benchmark.checked.layer());
            gradients.check(benchmark.checked.layer(), benchmark.input, benchmark.dOutput);
        }

        /** Releases native memory. */
        @TearDown
        public void release() {
            gradients.close();
        }
    }

    /**
     * Forward, and a backward that adds all gradients into buffers.
     *
     * @param buffers for all parameters
     * @return one number, so that nothing is optimised away
     */
    @Benchmark
    public double forwardAndBackwardInto(Buffers buffers) {
        try (MoePass pass = checked.layer().forward(input);
                Matrix result = pass.output();
                Gradients gradients = buffers.gradients.add(pass, dOutput)) {
            return gradients.input().get(0, 0) + result.get(0, 0);
        }
    }

    /**
     * Forward, and a backward with all gradients in matrices of their own.
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
