package org.moe4j.bench.jmh.loading;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.LayerTensors;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.layout.Sizes;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.nd4j.Nd4jBackend;
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
 * Question: what does loading a layer cost beside reading its bytes? A layer of 8 experts, 50 million weights, in a file that was
 * just written, so that it is in the memory of the operating system.
 *
 * <p>Baseline: {@code bytes}, the same file read into one buffer of a mebibyte over and over. {@code rows} is everything up to the
 * numbers in single precision: finding and mapping the tensors, converting and checking each row; the rows go into one array over and
 * over, as the baseline's bytes do. {@code layer} makes the layer, in memory that is new each time.
 *
 * <p>Trap: compare within one run; a file that is not in memory measures the disk.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"-Xmx64m", "-Dorg.bytedeco.javacpp.maxbytes=4g", "-Dorg.bytedeco.javacpp.maxphysicalbytes=8g"})
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@SuppressWarnings("NullAway.Init") // JMH calls prepare() first
public class CheckpointBenchmark {
    private static final int BUFFER = 1 << 20;
    private static final Set<LayerPart> OF_EXPERTS = EnumSet.of(LayerPart.GATE, LayerPart.UP, LayerPart.DOWN);
    private static final Set<LayerPart> BIASES =
            EnumSet.of(LayerPart.GATE_BIAS, LayerPart.UP_BIAS, LayerPart.DOWN_BIAS, LayerPart.ROUTER_BIAS);

    /** How the numbers are stored. */
    @Param({"F32", "BF16", "F16", "FP8", "MXFP4", "transposed"})
    public String kind;

    private Path folder;
    private Layout layout;
    private TensorStore store;
    private Set<LayerPart> parts;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
    private final float[] row = new float[CheckpointFiles.INTERMEDIATE];
    private final float[] narrow = new float[CheckpointFiles.HIDDEN];

    /** For JMH. */
    public CheckpointBenchmark() {}

    /**
     * Writes the file.
     *
     * @throws IOException when it cannot be written
     */
    @Setup
    public void prepare() throws IOException {
        folder = Files.createTempDirectory("checkpoint");
        CheckpointFiles.write(folder, kind);
        layout = Layout.of(ModelConfig.read(folder));
        store = TensorStore.open(folder);
        parts = EnumSet.copyOf(OF_EXPERTS);
        parts.add(LayerPart.ROUTER_WEIGHT);
        if (kind.equals("FP8")) {
            parts.add(LayerPart.SELECTION_BIAS);
        }
        if (kind.equals("MXFP4") || kind.equals("transposed")) {
            parts.addAll(BIASES);
        }
        if (layer() != CheckpointFiles.EXPERTS || rows() == 0) {
            throw new IllegalStateException("layer: expected all experts, with numbers other than 0");
        }
    }

    /**
     * Removes it.
     *
     * @throws IOException when it cannot be removed
     */
    @TearDown
    public void release() throws IOException {
        store.close();
        Files.delete(folder.resolve("config.json"));
        Files.delete(folder.resolve("model.safetensors"));
        Files.delete(folder);
    }

    /**
     * The baseline.
     *
     * @return bytes of the file
     * @throws IOException when the file cannot be read
     */
    @Benchmark
    public long bytes() throws IOException {
        long count = 0;
        try (FileChannel channel = FileChannel.open(folder.resolve("model.safetensors"), StandardOpenOption.READ)) {
            for (int read = 0; read >= 0; read = channel.read(buffer.clear())) {
                count += read;
            }
        }
        return count;
    }

    /**
     * All weights of the experts as numbers.
     *
     * @return the sum of some
     * @throws IOException when the file cannot be read
     */
    @Benchmark
    public double rows() throws IOException {
        Sizes sizes = new Sizes(
                CheckpointFiles.EXPERTS,
                CheckpointFiles.HIDDEN,
                CheckpointFiles.HIDDEN,
                CheckpointFiles.INTERMEDIATE,
                0);
        LayerTensors tensors = LayerTensors.find(layout, store, 0, sizes, parts);
        double sum = 0;
        for (LayerPart part : OF_EXPERTS) {
            for (int e = 0; e < CheckpointFiles.EXPERTS; e++) {
                RowSource source = tensors.rows(part, e);
                float[] into = tensors.columnsOf(part) == row.length ? row : narrow;
                for (int i = 0; i < tensors.rowsOf(part); i++) {
                    source.read(i, into);
                    sum += into[i % into.length];
                }
            }
        }
        return sum;
    }

    /**
     * The layer.
     *
     * @return its number of experts
     * @throws IOException when the file cannot be read
     */
    @Benchmark
    public int layer() throws IOException {
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                MoeLayer layer = checkpoint.layer(0, Nd4jBackend.float32())) {
            return layer.experts().shape().count();
        }
    }
}
