package org.moe4j.checkpoint;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.LayerTensors;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;

/** A published model in a folder, and the MoE layers in it. Several threads may use it at once. */
public final class MoeCheckpoint implements AutoCloseable {
    private final Path folder;
    private final ModelConfig config;
    private final Layout layout;
    private final Preset preset;
    private final SortedSet<Integer> layers;
    private final TensorStore store;

    private MoeCheckpoint(Path folder, ModelConfig config, Layout layout, TensorStore store) {
        this.folder = folder;
        this.config = config;
        this.layout = layout;
        this.store = store;
        preset = layout.preset(config);
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
        Layout layout = Layout.of(config);
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
        return preset;
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
        LayerNeeds needs = LayerNeeds.of(preset);
        return new LayerReader(tensors(index, needs), needs, backend).read();
    }

    /**
     * The tensors of a layer with other values, by the names and in the shapes that the checkpoint has for them: for gradients, or for
     * parameters that were changed.
     *
     * @param index of the layer
     * @param start put before each name, as {@code grad.}
     * @param type of all numbers: F64, F32, F16 or BF16
     * @param values by the names of the layer's parameters; open until the tensors are written
     * @return the tensors, without what is no parameter (the selection bias)
     * @throws IOException as {@link #layer}
     */
    public List<TensorContent> contents(int index, String start, ElementType type, Parameters values)
            throws IOException {
        LayerNeeds needs = LayerNeeds.of(preset);
        Set<LayerPart> parts = new LinkedHashSet<>(needs.parts());
        parts.remove(LayerPart.SELECTION_BIAS);
        return tensors(index, needs).contents(start, type, new NamedParts(values), parts);
    }

    private LayerTensors tensors(int index, LayerNeeds needs) throws IOException {
        requireMoe(index);
        return LayerTensors.find(layout, store, index, needs.sizes(), needs.parts());
    }

    private void requireMoe(int index) {
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
