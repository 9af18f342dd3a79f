package org.moe4j.bench.jmh;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.MergeConvention;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
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
 * Question: what does merging the routed and the shared output cost alone?
 *
 * <p>D 2048, one shared expert; a plain sum, a scaled one, and a sigmoid gate that reads the tokens. Baseline: {@code loop}, the sum of two
 * arrays in a plain loop on one thread.
 *
 * <p>Trap: the merges make a new matrix each time, the baseline writes to one that is there.
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
public class MergeBenchmark {
    private static final int WIDTH = 2048;
    private static final double ROUTED = 0.75;
    private static final double SHARED = 0.5;

    /** Where. */
    @Param({"vector", "nd4j"})
    public String backend;

    /** How. */
    @Param({"sum", "scaled", "gated"})
    public String rule;

    /** T. */
    @Param({"1", "64", "1024"})
    public int tokens;

    private MergeConvention convention;
    private Matrix input;
    private Matrix routed;
    private Matrix shared;
    private float[] a;
    private float[] b;
    private float[] sum;

    /** For JMH. */
    public MergeBenchmark() {}

    /** Draws both branches, and checks the last token. */
    @Setup
    public void prepare() {
        Backend own = LayerKind.named(backend).backend();
        Initializer normal = Initializer.normal(1);
        input = normal.draw(own, tokens, WIDTH, 1);
        routed = normal.draw(own, tokens, WIDTH, 2);
        shared = normal.draw(own, tokens, WIDTH, 3);
        a = new float[tokens * WIDTH];
        b = new float[a.length];
        sum = new float[a.length];
        convention = switch (rule) {
            case "sum" -> ScaledMerge.sum();
            case "scaled" -> ScaledMerge.scaled(ROUTED, SHARED);
            case "gated" -> GatedMerge.random(1, WIDTH, SharedScore.SIGMOID, own, 4);
            default -> throw new IllegalArgumentException("rule: expected sum, scaled or gated but was " + rule);
        };
        check();
    }

    private void check() {
        int last = tokens - 1;
        double[] r = CheckedLayer.row(routed, last);
        double[] s = CheckedLayer.row(shared, last);
        double[] factors = factors(last);
        double[] expected = new double[WIDTH];
        for (int i = 0; i < WIDTH; i++) {
            expected[i] = factors[0] * r[i] + factors[1] * s[i];
        }
        try (Matrix output = pass().output()) {
            CheckedLayer.compare(
                    expected, CheckedLayer.row(output, last), input.backend().unitRoundoff());
        }
    }

    /** What multiplies the routed and the shared output, by its definition. */
    private double[] factors(int token) {
        if (convention instanceof GatedMerge gated) {
            double z = 0;
            for (int i = 0; i < WIDTH; i++) {
                z += input.get(token, i) * gated.gate().get(0, i);
            }
            return new double[] {1, 1 / (1 + Math.exp(-z))};
        }
        return rule.equals("sum") ? new double[] {1, 1} : new double[] {ROUTED, SHARED};
    }

    private MergePass pass() {
        return convention.merge(input, routed, List.of(shared));
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        convention.close();
        shared.close();
        routed.close();
        input.close();
    }

    /**
     * The merge.
     *
     * @return its output, released
     */
    @Benchmark
    public Matrix merge() {
        Matrix output = pass().output();
        output.close();
        return output;
    }

    /**
     * The baseline.
     *
     * @return the sum
     */
    @Benchmark
    public float[] loop() {
        for (int i = 0; i < sum.length; i++) {
            sum[i] = a[i] + b[i];
        }
        return sum;
    }
}
