package org.moe4j.checkpoint;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import org.moe4j.checkpoint.block.MoeBlock;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.BlockNorms;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.LayerTensors;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.rewrite.DownScale;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.RouterLosses;

/** A published model in a folder, and the MoE layers in it. Several threads may use it at once. */
public final class MoeCheckpoint implements AutoCloseable {
    private final Path folder;
    private final ModelConfig config;
    private final Layout layout;
    private final LayerNeeds needs;
    private final BlockNorms norms;
    private final SortedSet<Integer> layers;
    private final TensorStore store;

    private MoeCheckpoint(Path folder, ModelConfig config, Layout layout, TensorStore store) {
        this.folder = folder;
        this.config = config;
        this.layout = layout;
        this.store = store;
        needs = LayerNeeds.of(layout, config);
        norms = layout.norms(config);
        layers = layout.moeLayers(config);
    }

    /**
     * Opens a checkpoint. Only {@code config.json} and the index or header of the tensors are read.
     *
     * @param folder with a {@code config.json} and {@code model.safetensors}, or the index of several files
     * @return to be closed
     * @throws IOException when a file is missing or broken
     * @throws IllegalArgumentException when the configuration is of no family that is known, or lacks a key
     */
    public static MoeCheckpoint open(Path folder) throws IOException {
        ModelConfig config = ModelConfig.read(folder);
        return open(folder, config, Layout.of(config));
    }

    /**
     * Opens a checkpoint by a given layout, whatever its {@code model_type} is.
     *
     * @param folder with a {@code config.json} and {@code model.safetensors}, or the index of several files
     * @param layout of the library, or of {@link Layout#load}
     * @return to be closed
     * @throws IOException when a file is missing or broken
     * @throws IllegalArgumentException when the configuration lacks a key, or has a value that the layout does not know
     */
    public static MoeCheckpoint open(Path folder, Layout layout) throws IOException {
        return open(folder, ModelConfig.read(folder), layout);
    }

    private static MoeCheckpoint open(Path folder, ModelConfig config, Layout layout) throws IOException {
        TensorStore store = TensorStore.open(folder);
        try {
            return new MoeCheckpoint(folder, config, layout, store);
        } catch (RuntimeException | Error failure) {
            store.close();
            throw failure;
        }
    }

    /**
     * The folder.
     *
     * @return as given
     */
    public Path folder() {
        return folder;
    }

    /**
     * The configuration.
     *
     * @return as read
     */
    public ModelConfig config() {
        return config;
    }

    /**
     * The settings of its MoE layers.
     *
     * @return the preset that the configuration means
     */
    public Preset preset() {
        return needs.preset();
    }

    /**
     * The losses with which the configuration trains a router. A layer that is read does not have them by itself.
     *
     * @return for {@link org.moe4j.router.TopKRouter#withLosses}; none where the configuration or its family names none
     * @throws IllegalArgumentException when a key of the configuration has a value that is no coefficient
     */
    public List<RouterLoss> losses() {
        try {
            return RouterLosses.from(preset());
        } catch (IllegalArgumentException refused) {
            throw layout.inWordsOf(config, refused);
        }
    }

    /**
     * Its MoE layers.
     *
     * @return indices, unmodifiable; the other layers are dense
     */
    public SortedSet<Integer> moeLayers() {
        return layers;
    }

    /**
     * Reads one layer, and nothing else.
     *
     * @param index one of {@link #moeLayers}
     * @param backend makes the weights, which are converted row by row
     * @return the layer, to be closed
     * @throws IllegalArgumentException for a layer that is dense or not there, or a number that is not finite
     * @throws IOException when a tensor is missing, left over, of another shape, or cannot be read
     */
    public MoeLayer layer(int index, Backend backend) throws IOException {
        return layer(index, backend, () -> {});
    }

    /**
     * Reads one layer and tells how far it is.
     *
     * @param index one of {@link #moeLayers}
     * @param backend makes the weights
     * @param expertRead told of each routed expert
     * @return the layer, to be closed
     * @throws IllegalArgumentException as {@link #layer(int, Backend)}
     * @throws IOException as {@link #layer(int, Backend)}
     */
    public MoeLayer layer(int index, Backend backend, Runnable expertRead) throws IOException {
        return new LayerReader(tensors(index, needs.parts()), needs, backend, expertRead).read();
    }

    /**
     * Reads one layer with the norms around it.
     *
     * @param index one of {@link #moeLayers}
     * @param backend makes the weights
     * @return the block, to be closed
     * @throws IllegalArgumentException as {@link #layer(int, Backend)}
     * @throws IOException as {@link #layer(int, Backend)}
     */
    public MoeBlock block(int index, Backend backend) throws IOException {
        return block(index, backend, () -> {});
    }

    /**
     * Reads one layer with the norms around it and tells how far it is.
     *
     * @param index one of {@link #moeLayers}
     * @param backend makes the weights
     * @param expertRead told of each routed expert
     * @return the block, to be closed
     * @throws IllegalArgumentException as {@link #layer(int, Backend)}
     * @throws IOException as {@link #layer(int, Backend)}
     */
    public MoeBlock block(int index, Backend backend, Runnable expertRead) throws IOException {
        LayerTensors tensors = tensors(index, withParts(norms.parts()));
        return new LayerReader(tensors, needs, backend, expertRead).readBlock(norms);
    }

    /**
     * Reads the weights of one routed expert, and no other numbers.
     *
     * @param index one of {@link #moeLayers}
     * @param expert 0 ≤ expert &lt; E
     * @param backend makes the weights
     * @return {@code gate}, {@code up} and {@code down}, and their biases, as the family has them; to be closed
     * @throws IndexOutOfBoundsException for an expert that is not there
     * @throws IllegalArgumentException as {@link #layer(int, Backend)}
     * @throws IOException as {@link #layer(int, Backend)}
     */
    public Parameters expert(int index, int expert, Backend backend) throws IOException {
        Objects.checkIndex(expert, needs.sizes().experts());
        return new LayerReader(tensors(index, needs.parts()), needs, backend, () -> {}).readExpert(expert);
    }

    /**
     * The output of a layer, one expert after the other: memory holds one of them.
     *
     * @param index one of {@link #moeLayers}
     * @param tokens (T×D), whose backend runs the layer
     * @return (T×D), to be closed
     * @throws IllegalArgumentException as {@link #layer}
     * @throws IOException as {@link #layer}
     */
    public Matrix output(int index, Matrix tokens) throws IOException {
        return LayerByExperts.output(tensors(index), needs, new DownScale(1), tokens);
    }

    /**
     * The tensors of a layer that takes the place of the stored one, by the names and in the shapes that the checkpoint has for them, the
     * selection bias too.
     *
     * @param index of the layer
     * @param type of all numbers: F64, F32, F16 or BF16
     * @param layer with the parts of the stored one; open until the tensors are written
     * @return the tensors, for {@link CheckpointWriter#save}
     * @throws IOException as {@link #layer}
     */
    public List<TensorContent> contents(int index, ElementType type, MoeLayer layer) throws IOException {
        return new LayerContents(tensors(index), needs.parts()).of(type, layer);
    }

    /**
     * The tensors of a layer with other values, by the names and in the shapes that the checkpoint has for them: for gradients, or for
     * parameters that were changed.
     *
     * @param index of the layer
     * @param start put before each name, as {@code grad.}
     * @param type of all numbers: F64, F32, F16 or BF16
     * @param values by the names of the layer's parameters, and of its block's norms if these are wanted; open until the tensors are
     *     written
     * @return the tensors, without what is no parameter (the selection bias)
     * @throws IOException as {@link #layer(int, Backend)}
     */
    public List<TensorContent> contents(int index, String start, ElementType type, Parameters values)
            throws IOException {
        Set<LayerPart> parts = withParts(LayerContents.named(norms.parts(), values));
        return new LayerContents(tensors(index, parts), parts).of(start, type, values);
    }

    /** Those of the layer and these. */
    private Set<LayerPart> withParts(Set<LayerPart> others) {
        Set<LayerPart> parts = new LinkedHashSet<>(needs.parts());
        parts.addAll(others);
        return parts;
    }

    private LayerTensors tensors(int index, Set<LayerPart> parts) throws IOException {
        requireMoe(index);
        return LayerTensors.find(layout, store, index, needs.sizes(), parts);
    }

    Layout layout() {
        return layout;
    }

    LayerNeeds needs() {
        return needs;
    }

    TensorStore store() {
        return store;
    }

    LayerTensors tensors(int index) throws IOException {
        return tensors(index, needs.parts());
    }

    /**
     * Refuses a layer that is dense or not there.
     *
     * @param index of a layer
     * @throws IllegalArgumentException unless it is one of {@link #moeLayers}
     */
    public void requireMoe(int index) {
        if (!layers.contains(index)) {
            throw new IllegalArgumentException(
                    folder + ": layer: expected an MoE layer, one of " + layers + ", but was " + index);
        }
    }

    @Override
    public void close() throws IOException {
        store.close();
    }

    @Override
    public String toString() {
        return "MoeCheckpoint[" + folder + ", " + layout.id() + "]";
    }
}
