package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
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
 * Question: what does one token cost in a layer so small that its products are microseconds (D 256, F 128, E 16, K 2)?
 *
 * <p>Baseline: {@code loops}, as many multiply-adds in plain loops in float on one thread: two experts, each over its three weight matrices,
 * without router.
 *
 * <p>Trap: a pool of threads costs more than it gives here; look at the allocation too, which a stream of single tokens pays each time.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx2g", ForkOptions.MODULE, ForkOptions.IF_KNOWN, ForkOptions.HUGE_PAGES})
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 6, time = 1)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class SmallLayerBenchmark {
    private static final int USED = 2;

    /** Where, and with which weights. */
    @Param({"vector", "vector-bf16", "nd4j"})
    public String backend;

    private CheckedLayer checked;
    private Matrix input;
    private Matrix output;
    private float[][] weights;
    private float[] x;
    private float[] hidden;

    /** For JMH. */
    public SmallLayerBenchmark() {}

    /** Makes the layer and checks it. */
    @Setup
    public void prepare() {
        Preset preset = Models.small();
        LayerKind kind = LayerKind.named(backend);
        Backend own = kind.backend();
        checked = new CheckedLayer(preset, kind);
        input = CheckedLayer.tokens(preset, own, 1);
        output = own.buffer(1, input.columns());
        checked.check(input);
        x = new float[input.columns()];
        hidden = new float[checked.layer().experts().shape().intermediateSize()];
        weights = new float[3 * USED][x.length * hidden.length];
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
    public Matrix applyInto() {
        checked.layer().applyInto(input, output);
        return output;
    }

    /**
     * The baseline.
     *
     * @return what the loops wrote
     */
    @Benchmark
    public float[] loops() {
        for (int i = 0; i < weights.length; i += 3) {
            product(weights[i], x, hidden);
            product(weights[i + 1], x, hidden);
            product(weights[i + 2], hidden, x);
        }
        return x;
    }

    private static void product(float[] w, float[] in, float[] out) {
        for (int o = 0; o < out.length; o++) {
            float sum = 0;
            for (int i = 0; i < in.length; i++) {
                sum += w[o * in.length + i] * in[i];
            }
            out[o] = sum;
        }
    }
}
