package org.moe4j.bench.limits;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.moe4j.bench.limits.LimitsResult.Gemm;
import org.moe4j.bench.limits.LimitsResult.LayerTime;
import org.moe4j.bench.limits.LimitsResult.Machine;
import org.moe4j.bench.support.Progress;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.preset.Preset;

/** Measures, in a JVM of its own, and leaves the result in a file. */
final class LimitsMeasurement {
    /** D 2048, F 1024, E 64, K 8. */
    static final Preset PRESET = Preset.named("olmoe-1b-7b");

    static final List<Integer> TOKENS = List.of(1, 8, 64, 256, 1024);
    static final long READ_BYTES = 2L << 30;

    /** Of these a large product is measured; weights of experts play no part in it. */
    private static final List<LayerKind> MULTIPLYING = List.of(LayerKind.VECTOR, LayerKind.ND4J);

    private final double seconds;
    private final int threads = Runtime.getRuntime().availableProcessors();
    private final Progress progress;
    private final Map<LayerKind, Double> peaks = new EnumMap<>(LayerKind.class);
    private double read;

    private LimitsMeasurement(double seconds, Progress progress) {
        this.seconds = seconds;
        this.progress = progress;
    }

    /**
     * Measures.
     *
     * @param arguments seconds of each measurement, and the file for the result
     * @throws IOException when it cannot be written
     */
    public static void main(String[] arguments) throws IOException {
        int kinds = LayerKind.values().length;
        int steps = (1 + kinds) * (1 + MULTIPLYING.size()) + kinds * TOKENS.size();
        try (Progress progress = Progress.start("limits", steps)) {
            LimitsResult result = new LimitsMeasurement(Double.parseDouble(arguments[0]), progress).run();
            new ObjectMapper().writeValue(Path.of(arguments[1]).toFile(), result);
        }
        System.exit(0); // whatever threads of libraries are left
    }

    private LimitsResult run() throws IOException {
        List<LayerTime> layers = new ArrayList<>();
        measureLimits();
        for (LayerKind kind : LayerKind.values()) {
            layers.addAll(layer(kind));
            measureLimits();
        }
        List<Gemm> gemms = MULTIPLYING.stream()
                .map(kind -> new Gemm(kind, peaks.getOrDefault(kind, 0.0)))
                .toList();
        return new LimitsResult(Machine.here(), read, gemms, layers);
    }

    /** The best of several moments of the run: a limit must not be that of a moment in which something else ran. */
    private void measureLimits() {
        read = Math.max(read, ReadBandwidth.measure(threads, READ_BYTES, seconds / 2, seconds));
        progress.step();
        for (LayerKind kind : MULTIPLYING) {
            peaks.merge(kind, GemmPeak.measure(kind.backend(), seconds, seconds), Math::max);
            progress.step();
        }
    }

    private List<LayerTime> layer(LayerKind kind) {
        List<LayerTime> times = new ArrayList<>();
        Backend backend = kind.backend();
        try (CheckedLayer checked = new CheckedLayer(PRESET, kind)) {
            for (int count : TOKENS) {
                try (Matrix tokens = CheckedLayer.tokens(PRESET, backend, count);
                        Matrix output = backend.buffer(count, tokens.columns())) {
                    checked.check(tokens);
                    MoeLayer layer = checked.layer();
                    CallTimes call = CallTimes.of(() -> layer.applyInto(tokens, output), 2 * seconds, 2 * seconds);
                    times.add(time(kind, layer, tokens, call));
                }
                progress.step();
            }
        }
        return times;
    }

    private static LayerTime time(LayerKind kind, MoeLayer layer, Matrix tokens, CallTimes call) {
        ExpertShape shape = layer.experts().shape();
        int[] rows = layer.router().routing(tokens, RoutingContext.plain()).tokensPerExpert();
        int active = 0;
        for (int count : rows) {
            active += count > 0 ? 1 : 0;
        }
        double perExpert = (double) shape.parameters() / shape.count();
        double router = (double) shape.count() * tokens.columns();
        double read = Float.BYTES * (router + (double) tokens.rows() * tokens.columns());
        double perToken = shape.flopsPerToken(layer.router().topK()) + 2 * router;
        return new LayerTime(
                kind,
                tokens.rows(),
                active,
                call.best(),
                call.median(),
                active * perExpert * kind.bytesPerWeight() + read,
                tokens.rows() * perToken);
    }
}
