package org.moe4j.checkpoint;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.EightBits;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.Numbers;
import org.moe4j.checkpoint.safetensors.StoredRounding;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorInfo;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.rewrite.DownScale;

/**
 * Writes a checkpoint whose MoE layers compute the same from other numbers: operations that are algebraically exact, and that the
 * configuration of the family can say. All operations together are one change, so that each number is rounded once. Blocks that predict
 * further tokens read the same configuration: their routed experts are rewritten too.
 *
 * <p>Each layer is run twice on random tokens, in double precision and one expert at a time, before the first tensor is written: as it is,
 * and with the new settings and products that are not stored yet. Then it is run as it was stored, before the folder gets its name.
 */
public final class CheckpointRewrite {
    private static final int TOKENS = 16;
    /** Of outputs in double precision: some thousand roundings of 2^-53. */
    private static final double SAME = 1e-12;

    private static final Set<LayerPart> SCALED = Set.of(LayerPart.DOWN, LayerPart.DOWN_BIAS);

    private final MoeCheckpoint original;
    private final RewrittenSettings settings;
    private final StoredRounding rounding = new StoredRounding();
    private final Map<String, List<TensorContent>> unpacked = new HashMap<>();
    private int rewritten;
    private int kept;

    private CheckpointRewrite(MoeCheckpoint original, RewrittenSettings settings) {
        this.original = original;
        this.settings = settings;
    }

    /** Told of the work that was done. */
    public interface Step {
        /** A layer was compared, each twice, or a file of tensors was written. */
        void done();
    }

    /**
     * How many steps of work a rewrite tells of.
     *
     * @param original of the rewrite
     * @return two for each MoE layer, and one for each file of tensors
     */
    public static int steps(MoeCheckpoint original) {
        return 2 * original.moeLayers().size()
                + Set.copyOf(original.store().files().values()).size();
    }

    /**
     * Writes the rewritten checkpoint.
     *
     * @param original stays as it is, open meanwhile
     * @param operations at least one, done in this order
     * @param out a folder that is not there yet, or is empty
     * @param step told of each step, {@link #steps} in all
     * @return what was done
     * @throws IllegalArgumentException when an operation is not exact here, or the configuration of the family cannot say it
     * @throws IOException when a file cannot be read or written, or a layer would not compute the same; nothing stays behind then
     */
    public static RewriteReport write(MoeCheckpoint original, List<RewriteOperation> operations, Path out, Step step)
            throws IOException {
        if (operations.isEmpty()) {
            throw Require.expected("operations", "at least 1 operation", "an empty list");
        }
        CheckpointWriter.requireFree(out);
        CheckpointRewrite rewrite = new CheckpointRewrite(original, RewrittenSettings.of(original, operations));
        rewrite.prepare();
        return rewrite.write(out, step);
    }

    /** Everything that could be refused without reading a number. */
    private void prepare() throws IOException {
        if (settings.type().isPresent()) {
            for (int layer : original.moeLayers()) {
                try {
                    unpacked.putAll(original.tensors(layer)
                            .unpacked(original.layout(), settings.type().get(), this::factor, rounding));
                } catch (IllegalArgumentException refused) {
                    throw new IllegalArgumentException(original.folder() + ": " + refused.getMessage(), refused);
                }
            }
            return;
        }
        TensorStore store = original.store();
        for (String name : store.names()) {
            Optional<LayerPart> part = original.layout().partNamed(name);
            ElementType type = store.info(name).type();
            boolean narrow = type.bytes() == 1;
            if (narrow && part.isPresent() && factor(part.get()) != 1) {
                throw new IllegalArgumentException(original.folder() + ": " + name
                        + ": expected numbers of at least 16 bits, or dtype as another operation, but was " + type);
            }
        }
    }

    private RewriteReport write(Path out, Step step) throws IOException {
        Map<Integer, double[]> outputs = new HashMap<>();
        List<RewriteReport.Layer> computed = new ArrayList<>();
        LayerNeeds needs = LayerNeeds.of(original.layout(), settings.config());
        for (int layer : original.moeLayers()) {
            double[] before = output(original, layer, original.needs(), 1);
            double difference = difference(output(original, layer, needs, settings.scale()), before);
            requireSame(layer, difference);
            outputs.put(layer, before);
            computed.add(new RewriteReport.Layer(layer, difference, 0));
            step.done();
        }
        List<RewriteReport.Layer> layers = new ArrayList<>();
        CheckpointWriter.write(original, settings.config(), this::contents, out, step::done, folder -> {
            try (MoeCheckpoint written = MoeCheckpoint.open(folder, original.layout())) {
                for (RewriteReport.Layer layer : computed) {
                    double[] before = Objects.requireNonNull(outputs.get(layer.index()));
                    double difference = difference(output(written, layer.index(), written.needs(), 1), before);
                    if (rounding.rounded() == 0) {
                        requireSame(layer.index(), difference);
                    }
                    layers.add(new RewriteReport.Layer(layer.index(), layer.computed(), difference));
                    step.done();
                }
            }
        });
        return new RewriteReport(layers, settings.scale(), changes(), rewritten, kept, rounding);
    }

    private void requireSame(int layer, double difference) throws IOException {
        if (!(difference <= SAME)) {
            throw new IOException(original.folder() + ": layer " + layer + ": expected the same output within " + SAME
                    + " of its largest number but the difference is " + difference);
        }
    }

    private List<RewriteReport.Setting> changes() {
        return settings.keys().stream()
                .map(key ->
                        new RewriteReport.Setting(key, value(original.config(), key), value(settings.config(), key)))
                .toList();
    }

    private static String value(ModelConfig config, String key) {
        return config.text(key).orElse(config.isNull(key) ? "null" : "absent");
    }

    private double factor(LayerPart part) {
        return SCALED.contains(part) ? settings.scale() : 1;
    }

    /** What takes the place of a stored tensor. */
    private List<TensorContent> contents(String name) throws IOException {
        List<TensorContent> plain = unpacked.get(name);
        if (plain != null) {
            rewritten++;
            return plain;
        }
        TensorStore store = original.store();
        TensorInfo info = store.info(name);
        Optional<LayerPart> part = original.layout().partNamed(name);
        double factor = part.map(this::factor).orElse(1.0);
        ElementType type = info.type();
        if (settings.type().isPresent()) {
            if (EightBits.scaled(store, name).isPresent()) {
                rewritten++;
                return List.of();
            }
            if (EightBits.isOne(info)) {
                return rewritten(info, settings.type().get(), EightBits.numbers(store, name), factor);
            }
            if (part.isPresent() && part.get() != LayerPart.SELECTION_BIAS) {
                type = settings.type().get();
            }
        }
        StoredTensor tensor = store.tensor(name);
        if (type != info.type() || factor != 1) {
            return rewritten(info, type, tensor::read, factor);
        }
        kept++;
        return List.of(TensorContent.of(tensor));
    }

    private List<TensorContent> rewritten(TensorInfo info, ElementType type, Numbers numbers, double factor) {
        rewritten++;
        return List.of(TensorContent.ofNumbers(info.name(), type, info.shape(), numbers, factor, rounding));
    }

    private static double[] output(MoeCheckpoint checkpoint, int layer, LayerNeeds needs, double scale)
            throws IOException {
        int width = ExpertShape.tokenWidth(needs.preset());
        SplittableRandom random = new SplittableRandom(layer);
        double[] numbers = new double[TOKENS * width];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = random.nextGaussian();
        }
        try (Matrix tokens = ReferenceBackend.instance().matrix(TOKENS, width, numbers);
                Matrix output = LayerByExperts.output(checkpoint.tensors(layer), needs, new DownScale(scale), tokens)) {
            return output.toArray();
        }
    }

    private static double difference(double[] actual, double[] expected) {
        double largest = 0;
        double difference = 0;
        for (int i = 0; i < expected.length; i++) {
            largest = Math.max(largest, Math.abs(expected[i]));
            difference = Math.max(difference, Math.abs(actual[i] - expected[i]));
        }
        return difference == 0 ? 0 : difference / largest;
    }
}
