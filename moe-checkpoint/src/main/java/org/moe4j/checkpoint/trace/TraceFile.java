package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Spelling;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.RoutingSource;

/**
 * A routing trace in a file: for each of its layers the experts that the same tokens went to, or their router logits, or both.
 *
 * <p>Safetensors: {@code topk_index.<layer>} [T, K] of whole numbers, beside it {@code topk_weight.<layer>} [T, K] where it was
 * recorded, and {@code router_logits.<layer>} [T, E]; without {@code .<layer>}, as {@code moe run} writes, in a file of one layer,
 * which is called 0. Other tensors of types that the library reads do not matter. NumPy: an array [T, K] of indices or [T, E] of logits, or [layers, T, …] of
 * either; floating-point numbers are logits, whole numbers are indices. All layers agree in T, those with logits in E, those with
 * indices in K.
 *
 * <p>Where indices were recorded, they are the routing; otherwise logits become one, by the options. A file is mapped and read when
 * its tokens are asked for, which are checked then: an index outside 0..E−1, an expert twice in a token and a number that is not
 * finite are errors that name file, tensor and token. The file has to stay as it is meanwhile; there is nothing to close. Several
 * threads may use one trace at once, each with sources of its own.
 */
public final class TraceFile {
    private final Path path;
    private final Map<String, LayerRows> layers;
    private final Map<String, String> metadata;
    private final int experts;
    private final int topK;
    private final Optional<RouterConfig> config; // by which logits become a routing
    private final boolean byLogits; // also where there are indices

    private TraceFile(
            Path path, Map<String, LayerRows> layers, Map<String, String> metadata, Sizes sizes, boolean byLogits) {
        this.path = path;
        this.layers = layers;
        this.metadata = metadata;
        this.experts = sizes.experts();
        this.topK = sizes.topK();
        this.config = sizes.config();
        this.byLogits = byLogits;
    }

    /**
     * Opens a file and checks what its header says.
     *
     * @param file safetensors or a NumPy array
     * @param options what the file does not say itself
     * @return nothing that need be closed
     * @throws IOException when it cannot be read, or is no trace
     * @throws IllegalArgumentException when the options do not fit it
     */
    public static TraceFile open(Path file, TraceOptions options) throws IOException {
        Map<String, LayerRows> layers;
        Map<String, String> metadata = Map.of();
        if (NumpyFile.is(file)) {
            layers = LayerRows.of(file, NumpyFile.open(file));
        } else {
            try (SafetensorsFile opened = SafetensorsFile.open(file)) {
                layers = LayerRows.of(file, opened);
                metadata = opened.metadata();
            }
        }
        long rows = Sizes.rows(file, layers.values());
        Sizes sizes = Sizes.of(file, layers.values(), metadata, options);
        if (options.mask().isPresent()) {
            KeptRows kept = MaskFile.read(options.mask().get(), rows);
            layers.replaceAll((name, layer) -> layer.masked(kept));
        }
        return new TraceFile(file, layers, metadata, sizes, options.config().isPresent());
    }

    /**
     * The file.
     *
     * @return as given
     */
    public Path path() {
        return path;
    }

    /**
     * Names of the layers.
     *
     * @return in ascending order, numbers in names by their value: "layers.9" before "layers.10"; unmodifiable
     */
    public List<String> layers() {
        return List.copyOf(layers.keySet());
    }

    /**
     * Texts beside the tensors.
     *
     * @return unmodifiable, empty for a NumPy array
     */
    public Map<String, String> metadata() {
        return Collections.unmodifiableMap(metadata);
    }

    /**
     * Number of experts.
     *
     * @return E
     */
    public int experts() {
        return experts;
    }

    /**
     * Number of experts of a token.
     *
     * @return K
     */
    public int topK() {
        return topK;
    }

    /**
     * Number of tokens.
     *
     * @return T, without those that the mask leaves out
     */
    public long tokens() {
        return layers.values().iterator().next().all().get(0).tokens();
    }

    /**
     * The experts of a layer's tokens.
     *
     * @param layer one of {@link #layers}
     * @return a source of its own, for one thread at a time
     * @throws NoSuchElementException for an unknown layer
     */
    public RoutingSource source(String layer) {
        LayerRows rows = layer(layer);
        if (rows.indices().isPresent() && !byLogits) {
            return new StoredIndices(rows.indices().get(), experts);
        }
        return RoutingSource.of(logits(layer).orElseThrow(), config.orElseThrow());
    }

    /**
     * The experts that are in the file, whatever rule logits are routed by.
     *
     * @param layer one of {@link #layers}
     * @return a source of its own, for one thread at a time; empty when there are logits alone
     * @throws NoSuchElementException for an unknown layer
     */
    public Optional<RoutingSource> recorded(String layer) {
        return layer(layer).indices().map(rows -> new StoredIndices(rows, experts));
    }

    /**
     * The router logits of a layer's tokens.
     *
     * @param layer one of {@link #layers}
     * @return a source of its own, for one thread at a time; empty when there are none in the file
     * @throws NoSuchElementException for an unknown layer
     */
    public Optional<LogitSource> logits(String layer) {
        return layer(layer).logits().map(StoredLogits::new);
    }

    /**
     * Whether the weights of a layer's assignments are known.
     *
     * @param layer one of {@link #layers}
     * @return true when they are in the file, or when logits become the routing
     * @throws NoSuchElementException for an unknown layer
     */
    public boolean hasWeights(String layer) {
        LayerRows rows = layer(layer);
        return byLogits || rows.indices().isEmpty() || rows.weights().isPresent();
    }

    /**
     * Experts and weights of some tokens of a layer.
     *
     * @param layer one of {@link #layers}
     * @param from 0 ≤ from
     * @param count tokens, {@code from + count} ≤ T
     * @return their routing
     * @throws NoSuchElementException for an unknown layer
     * @throws IllegalArgumentException for a layer whose weights are not known
     */
    public Routing routing(String layer, long from, int count) {
        Objects.checkFromIndexSize(from, (long) count, tokens());
        LayerRows rows = layer(layer);
        if (byLogits || rows.indices().isEmpty()) {
            double[] logits = new double[Require.product("count x experts", count, experts)];
            logits(layer).orElseThrow().read(from, count, logits);
            return config.orElseThrow().routing(logits);
        }
        StoredRows weights = rows.weights()
                .orElseThrow(() -> Require.expected(
                        path + ": layer " + layer, "a tensor topk_weight beside topk_index", "absent"));
        ChosenExperts chosen = source(layer).block(from, count);
        int[] indices = new int[chosen.slots()];
        for (int slot = 0; slot < indices.length; slot++) {
            indices[slot] = chosen.expert(slot);
        }
        double[] values = new double[indices.length];
        weights.read(from, count, values);
        return Routing.of(experts, topK, indices, values);
    }

    private LayerRows layer(String name) {
        LayerRows layer = layers.get(name);
        if (layer == null) {
            Function<String, String> hint = right -> "; did you mean " + right + "?";
            throw new NoSuchElementException(path + ": expected one of the layers " + layers.keySet() + " but was "
                    + name + Spelling.closest(name, layers.keySet()).map(hint).orElse(""));
        }
        return layer;
    }

    @Override
    public String toString() {
        return path + ": " + layers.size() + " layers, " + tokens() + " tokens, top " + topK + " of " + experts
                + " experts";
    }
}
