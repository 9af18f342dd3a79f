package org.moe4j.bench.jmh;

import java.util.concurrent.TimeUnit;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
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
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Question: do two threads that call one layer at the same time get as much done as one that calls it all the time?
 *
 * <p>A random layer of {@code olmoe-1b-7b}, and a small one (D 256, F 128, E 16, K 2) whose calls are too short to be divided among
 * workers. Baseline: {@code one} caller. Calls per second of all callers together: with two, a layer whose calls already use all
 * processors should keep them, and the small one can gain a second processor.
 *
 * <p>Trap: two callers read the same weights, so that one may find in a cache what the other has just read.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx6g", ForkOptions.MODULE, ForkOptions.IF_KNOWN, ForkOptions.HUGE_PAGES})
@Warmup(iterations = 4, time = 2)
@Measurement(iterations = 6, time = 2)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class CallersBenchmark {
    /** Where, and with which weights. */
    @Param({"vector", "vector-bf16", "nd4j"})
    public String backend;

    /** Which layer: a preset's, or small. */
    @Param({"small", "olmoe-1b-7b"})
    public String model;

    /** Tokens of one call. */
    @Param({"1", "64"})
    public int tokens;

    private CheckedLayer checked;
    private Matrix input;
    private double[] expected;

    /** For JMH. */
    public CallersBenchmark() {}

    /** Makes the layer and checks it. */
    @Setup
    public void prepare() {
        Preset preset = model.equals("small") ? Models.small() : Models.named(model);
        LayerKind kind = LayerKind.named(backend);
        checked = new CheckedLayer(preset, kind);
        input = CheckedLayer.tokens(preset, kind.backend(), tokens);
        checked.check(input);
        try (Matrix alone = checked.layer().apply(input)) {
            expected = CheckedLayer.row(alone, tokens - 1);
        }
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        input.close();
        checked.close();
    }

    /** What each caller has of its own. */
    @State(Scope.Thread)
    @SuppressWarnings("NullAway.Init") // JMH calls prepare() first
    public static class Caller {
        private Matrix output;

        /** For JMH. */
        public Caller() {}

        /**
         * Makes a buffer.
         *
         * @param benchmark with its layer
         */
        @Setup
        public void prepare(CallersBenchmark benchmark) {
            output = benchmark.input.backend().buffer(benchmark.tokens, benchmark.input.columns());
        }

        /**
         * Compares the last call, which was made beside others, with one that was made alone.
         *
         * @param benchmark with its layer
         */
        @TearDown
        public void check(CallersBenchmark benchmark) {
            CheckedLayer.compare(
                    benchmark.expected,
                    CheckedLayer.row(output, benchmark.tokens - 1),
                    output.backend().unitRoundoff());
            output.close();
        }
    }

    /**
     * The baseline.
     *
     * @param caller with a buffer
     * @return the output
     */
    @Benchmark
    @Threads(1)
    public Matrix one(Caller caller) {
        return call(caller);
    }

    /**
     * Two at the same time.
     *
     * @param caller with a buffer
     * @return the output
     */
    @Benchmark
    @Threads(2)
    public Matrix two(Caller caller) {
        return call(caller);
    }

    private Matrix call(Caller caller) {
        checked.layer().applyInto(input, caller.output);
        return caller.output;
    }
}
