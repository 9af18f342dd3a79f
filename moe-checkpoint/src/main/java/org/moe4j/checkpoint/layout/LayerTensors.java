package org.moe4j.checkpoint.layout;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.StoredRounding;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.backend.RowSource;

/** Where the parts of one layer are in a checkpoint: every part found, of the right shape, and no tensor of the layer left over. */
public final class LayerTensors {
    private final TensorStore store;
    private final String prefix;
    private final int layer;
    private final Sizes sizes;
    private final Map<LayerPart, TensorPattern> patterns;

    LayerTensors(TensorStore store, String prefix, int layer, Sizes sizes, Map<LayerPart, TensorPattern> patterns) {
        this.store = store;
        this.prefix = prefix;
        this.layer = layer;
        this.sizes = sizes;
        this.patterns = patterns;
    }

    /**
     * Finds the parts of a layer.
     *
     * @param layout of the family
     * @param store of the checkpoint
     * @param layer index of the layer
     * @param sizes of the layer
     * @param parts that the layer has to have
     * @return where they are
     * @throws IOException when a part is missing, stands in two places or has another shape, or when a tensor of the layer is no
     *     part; the message lists what is wrong
     */
    public static LayerTensors find(
            Layout layout, TensorStore store, int layer, Sizes sizes, Collection<LayerPart> parts) throws IOException {
        return new LayerSearch(layout, store, layer, sizes).find(parts);
    }

    String filled(String name, int expert) {
        return TensorPattern.filled(name, prefix, layer, expert);
    }

    /** Names of all tensors that hold a part, those of scales too. */
    List<String> storedNames(LayerPart part) {
        TensorPattern pattern = pattern(part);
        List<String> names = new ArrayList<>();
        for (int e = 0; e < (pattern.perExpert() ? sizes.experts() : 1); e++) {
            names.add(filled(pattern.name(), e));
            Optional<String> scales = pattern.scales();
            if (scales.isPresent()) {
                names.add(filled(scales.get(), e));
            }
        }
        return names;
    }

    /**
     * The parts that are stored in 4 bits, as tensors of wider numbers.
     *
     * @param layout of the family, which has other names and shapes for these
     * @param type of all numbers
     * @param factor of a part
     * @param rounding gets what storing does to them
     * @return what takes the place of each stored tensor, by its name: one tensor, or none; empty if no part has 4 bits
     * @throws IllegalArgumentException when the family has experts in 4 bits only
     */
    public Map<String, List<TensorContent>> unpacked(
            Layout layout, ElementType type, ToDoubleFunction<LayerPart> factor, StoredRounding rounding) {
        List<LayerPart> packed = patterns.entrySet().stream()
                .filter(entry -> entry.getValue().encoding() == TensorPattern.Encoding.MXFP4)
                .map(Map.Entry::getKey)
                .toList();
        return new UnpackedExperts(layout, this, sizes, packed).contents(type, factor, rounding);
    }

    /**
     * The rows of a part.
     *
     * @param part one that was found
     * @param expert whose; 0 for a part that is not an expert's
     * @return to be read by one thread, from the first row on
     * @throws IOException when the tensor cannot be mapped
     */
    public RowSource rows(LayerPart part, int expert) throws IOException {
        TensorPattern pattern = pattern(part);
        String name = filled(pattern.name(), expert);
        StoredTensor tensor = store.tensor(name);
        return new PartSource(
                values(pattern, part, tensor, expert),
                pattern.strides(sizes, part, expert),
                rowsOf(part),
                columnsOf(part),
                store.folder() + ": " + name);
    }

    /**
     * Tensors of the layer with other values, in their names and shapes: as a changed layer, or gradients. Values that are stored in
     * 8 or 4 bits stand under the name that they have without their encoding.
     *
     * @param start put before each name
     * @param type of all numbers
     * @param matrices give the values; the parts of those tensors that are written are all asked for
     * @param parts whose tensors are written
     * @return one for each tensor, to be written by one thread
     */
    public List<TensorContent> contents(
            String start, ElementType type, PartMatrices matrices, Collection<LayerPart> parts) {
        Map<String, Packed> byName = new LinkedHashMap<>();
        for (LayerPart part : parts) {
            TensorPattern pattern = pattern(part);
            for (int e = 0; e < (pattern.perExpert() ? sizes.experts() : 1); e++) {
                int expert = e;
                PartMatrices own = pattern.perExpert() ? (any, index) -> matrices.of(any, expert) : matrices;
                byName.computeIfAbsent(
                                filled(pattern.valueName(), e),
                                absent -> new Packed(pattern.axes(), pattern.shape(sizes, part), new ArrayList<>()))
                        .members()
                        .add(new PackedTensor.Member(part, pattern, sizes, own));
            }
        }
        List<TensorContent> contents = new ArrayList<>();
        byName.forEach((name, packed) -> contents.add(TensorContent.ofRows(
                start + name,
                type,
                packed.shape(),
                new PackedTensor(packed.members(), packed.axes(), packed.shape()))));
        return contents;
    }

    private record Packed(List<Axis> axes, List<Long> shape, List<PackedTensor.Member> members) {}

    /**
     * Rows of the matrix of a part.
     *
     * @param part any
     * @return rows
     */
    public int rowsOf(LayerPart part) {
        return sizes.of(part.rows(), part);
    }

    /**
     * Columns of the matrix of a part.
     *
     * @param part any
     * @return columns
     */
    public int columnsOf(LayerPart part) {
        return sizes.of(part.columns(), part);
    }

    private Values values(TensorPattern pattern, LayerPart part, StoredTensor tensor, int expert) throws IOException {
        ElementType type = tensor.info().type();
        boolean eightBits = LayerSearch.EIGHT_BITS.contains(type);
        return switch (pattern.encoding()) {
            case PLAIN -> Values.plain(tensor);
            case MXFP4 -> Values.mxfp4(tensor, scales(pattern, expert));
            case BLOCKS -> {
                List<Long> shape = pattern.shape(sizes, part);
                int rows = Math.toIntExact(shape.get(shape.size() - 2));
                int columns = Math.toIntExact(shape.get(shape.size() - 1));
                yield eightBits
                        ? Values.blocks(tensor, scales(pattern, expert), rows, columns, TensorPattern.BLOCK)
                        : Values.plain(tensor);
            }
        };
    }

    private StoredTensor scales(TensorPattern pattern, int expert) throws IOException {
        return store.tensor(filled(pattern.scales().orElseThrow(), expert));
    }

    private TensorPattern pattern(LayerPart part) {
        TensorPattern pattern = patterns.get(part);
        if (pattern == null) {
            throw new IllegalArgumentException("part: expected one of " + patterns.keySet() + " but was " + part);
        }
        return pattern;
    }
}
