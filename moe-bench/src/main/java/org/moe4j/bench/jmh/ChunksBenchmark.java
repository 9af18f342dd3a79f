package org.moe4j.bench.jmh;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
 * Question: does a call of many tokens cost more for each, in time or in memory, than one of few?
 *
 * <p>Always 16,384 tokens, in calls of as many as the parameter says; a layer of {@code olmoe-1b-7b} at half of its widths (D 1024, F 512,
 * E 64, K 8), which works in chunks of 2,340 tokens. Baseline: calls of 1,024 tokens. Few tokens read all weights for few rows; from there on
 * the time should not change.
 *
 * <p>Memory beyond weights, tokens and output: what a measurement allocates on the heap ({@code gc.alloc.rate.norm}, which is that of all
 * calls together and an upper bound of what is alive at once), and, printed on the log of each run, by how much the memory of the
 * process outside of the heap had grown at its peak since the calls began.
 *
 * <p>Trap: the heap is taken from the system at the start, so that its pages do not count as growth; it is larger than it needs to be.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {
            "-Xms4g",
            "-Xmx4g",
            "-XX:+AlwaysPreTouch",
            ForkOptions.MODULE,
            ForkOptions.IF_KNOWN,
            ForkOptions.HUGE_PAGES
        })
@Warmup(iterations = 3)
@Measurement(iterations = 4)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class ChunksBenchmark {
    private static final int TOKENS = 16_384;
    private static final int HIDDEN = 1024;
    private static final int INTERMEDIATE = 512;
    private static final Path STATUS = Path.of("/proc/self/status");

    /** Where, and with which weights. */
    @Param({"vector", "vector-bf16", "nd4j"})
    public String backend;

    /** Tokens of one call. */
    @Param({"256", "1024", "2048", "4096", "16384"})
    public int tokens;

    private CheckedLayer checked;
    private Matrix input;
    private Matrix output;
    private long before;

    /** For JMH. */
    public ChunksBenchmark() {}

    /**
     * Makes the layer and checks it.
     *
     * @throws IOException when the memory of the process cannot be read
     */
    @Setup
    public void prepare() throws IOException {
        Preset preset = Models.named("olmoe-1b-7b").scaledTo(HIDDEN, INTERMEDIATE);
        LayerKind kind = LayerKind.named(backend);
        Backend own = kind.backend();
        checked = new CheckedLayer(preset, kind);
        input = CheckedLayer.tokens(preset, own, tokens);
        output = own.buffer(tokens, input.columns());
        try (Matrix few = CheckedLayer.tokens(preset, own, 1)) {
            checked.check(few);
        }
        before = kilobytes("VmRSS:");
    }

    /**
     * Compares the last token of many with the same alone, says how much the memory had grown, and releases it.
     *
     * @throws IOException when the memory of the process cannot be read
     */
    @TearDown
    public void release() throws IOException {
        System.out.printf("%nnative memory: +%d MB at the peak%n", (kilobytes("VmHWM:") - before) / 1024);
        Matrix last = input.backend().matrix(1, input.columns(), CheckedLayer.row(input, tokens - 1));
        try (last;
                Matrix alone = checked.layer().apply(last)) {
            CheckedLayer.compare(
                    CheckedLayer.row(alone, 0),
                    CheckedLayer.row(output, tokens - 1),
                    input.backend().unitRoundoff());
        }
        output.close();
        input.close();
        checked.close();
    }

    /** Of the process; 0 where the system does not say. */
    private static long kilobytes(String key) throws IOException {
        if (!Files.isReadable(STATUS)) {
            return 0;
        }
        return Files.readAllLines(STATUS).stream()
                .filter(line -> line.startsWith(key))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
                .sum();
    }

    /**
     * All tokens.
     *
     * @return the output of the last call
     */
    @Benchmark
    public Matrix apply() {
        for (int done = 0; done < TOKENS; done += tokens) {
            checked.layer().applyInto(input, output);
        }
        return output;
    }
}
