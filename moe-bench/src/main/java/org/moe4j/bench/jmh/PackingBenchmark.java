package org.moe4j.bench.jmh;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.vector.VectorBackend;
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
 * Question: how fast does a backend put the weights of experts into the layout that its kernels want?
 *
 * <p>8 experts of D 2048 and F 1024: 201 MB of float32 are read, so that a millisecond is 201 GB/s, 100 ms are 2 GB/s. With one worker and
 * with one for each processor. Baseline: {@code copy}, the same numbers copied from array to array on one thread.
 *
 * <p>Trap: packing writes memory that is new each time, and that has to become zeros first; the copy writes to an array that is there.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx4g", ForkOptions.MODULE, ForkOptions.IF_KNOWN, ForkOptions.HUGE_PAGES})
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class PackingBenchmark {
    private static final int EXPERTS = 8;
    private static final int HIDDEN = 2048;
    private static final int INTERMEDIATE = 1024;
    private static final int BFLOAT16_BITS = 0xffff0000;
    private static final Activation ACTIVATION = new Activation.SwiGlu();

    /** Where, and with which weights. */
    @Param({"vector", "vector-bf16", "nd4j"})
    public String backend;

    /** Threads: one or all. */
    @Param({"one", "all"})
    public String workers;

    private final List<Parameters> weights = new ArrayList<>();
    private float[] from;
    private float[] into;

    /** For JMH. */
    public PackingBenchmark() {}

    /** Draws the weights, and checks that a bank gives them back. */
    @Setup
    public void prepare() {
        Backend own = backend();
        SplittableRandom random = new SplittableRandom(1);
        for (int e = 0; e < EXPERTS; e++) {
            Map<String, Matrix> expert = new LinkedHashMap<>();
            for (BankPart part : BankPart.of(ACTIVATION, false)) {
                int rows = part.rows(HIDDEN, INTERMEDIATE);
                int columns = part.columns(HIDDEN, INTERMEDIATE);
                expert.put(part.key(), own.matrix(rows, columns, draw(random, rows * columns)));
            }
            weights.add(Parameters.of(expert));
        }
        from = new float[EXPERTS * 3 * HIDDEN * INTERMEDIATE];
        into = new float[from.length];
        check();
    }

    private Backend backend() {
        int threads = workers.equals("one") ? 1 : Runtime.getRuntime().availableProcessors();
        return backend.equals("nd4j")
                ? Nd4jBackend.float32().withWorkers(threads)
                : VectorBackend.float32().withWorkers(threads);
    }

    private float[] draw(SplittableRandom random, int count) {
        int bits = backend.equals("vector-bf16") ? BFLOAT16_BITS : -1;
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = Float.intBitsToFloat(Float.floatToRawIntBits((float) (random.nextDouble() - 0.5)) & bits);
        }
        return values;
    }

    private void check() {
        try (FeedForwardExperts bank = FeedForwardExperts.of(ACTIVATION, weights);
                Parameters last = bank.expert(EXPERTS - 1)) {
            for (String part : last.names()) {
                double[] given = weights.get(EXPERTS - 1).get(part).toArray();
                if (!Arrays.equals(given, last.get(part).toArray())) {
                    throw new IllegalStateException(part + ": expected the weights that were given but was others");
                }
            }
        }
    }

    /** Releases native memory. */
    @TearDown
    public void release() {
        weights.forEach(Parameters::close);
    }

    /**
     * A bank of the weights.
     *
     * @return the bank, closed
     */
    @Benchmark
    public FeedForwardExperts pack() {
        FeedForwardExperts bank = FeedForwardExperts.of(ACTIVATION, weights);
        bank.close();
        return bank;
    }

    /**
     * The baseline.
     *
     * @return the copy
     */
    @Benchmark
    public float[] copy() {
        System.arraycopy(from, 0, into, 0, from.length);
        return into;
    }
}
