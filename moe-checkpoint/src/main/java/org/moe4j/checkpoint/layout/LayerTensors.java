package org.moe4j.checkpoint.layout;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorInfo;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.backend.RowSource;

/** Where the parts of one layer are in a checkpoint: every part found, of the right shape, and no tensor of the layer left over. */
public final class LayerTensors {
    /** Numbers in a row and in a column of a block of FP8 checkpoints. */
    private static final int BLOCK = 128;

    private static final int MOST_SHOWN = 5;

    private final TensorStore store;
    private final String prefix;
    private final int layer;
    private final Sizes sizes;
    private final Map<LayerPart, TensorPattern> patterns;

    private LayerTensors(
            TensorStore store, String prefix, int layer, Sizes sizes, Map<LayerPart, TensorPattern> patterns) {
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
        String prefix = prefix(layout, store, layer);
        Map<LayerPart, TensorPattern> patterns = new EnumMap<>(LayerPart.class);
        List<String> missing = new ArrayList<>();
        for (LayerPart part : parts) {
            List<TensorPattern> there = layout.tensors(part).stream()
                    .filter(pattern -> store.names().contains(TensorPattern.filled(pattern.name(), prefix, layer, 0)))
                    .toList();
            if (there.size() > 1) {
                throw wrong(store, layer, part.key() + " in one tensor", there + ", which both are there");
            }
            if (there.isEmpty()) {
                missing.addAll(layout.tensors(part).stream()
                        .map(pattern -> TensorPattern.filled(pattern.name(), prefix, layer, 0))
                        .limit(1)
                        .toList());
            } else {
                patterns.put(part, there.get(0));
            }
        }
        if (!missing.isEmpty()) {
            throw wrong(store, layer, some(missing), "a checkpoint without " + (missing.size() == 1 ? "it" : "them"));
        }
        LayerTensors found = new LayerTensors(store, prefix, layer, sizes, patterns);
        found.requireShapes();
        found.requireNothingElse(layout);
        return found;
    }

    /** What stands before the names of the layers in this checkpoint. */
    private static String prefix(Layout layout, TensorStore store, int layer) {
        for (String prefix : layout.prefixes()) {
            for (String covered : layout.covers()) {
                String start = TensorPattern.filled(covered, prefix, layer, 0);
                if (store.names().stream().anyMatch(name -> name.startsWith(start))) {
                    return prefix;
                }
            }
        }
        return layout.prefixes().get(0);
    }

    private void requireShapes() throws IOException {
        List<String> missing = new ArrayList<>();
        for (Map.Entry<LayerPart, TensorPattern> entry : patterns.entrySet()) {
            TensorPattern pattern = entry.getValue();
            for (int e = 0; e < (pattern.perExpert() ? sizes.experts() : 1); e++) {
                String name = filled(pattern.name(), e);
                if (!store.names().contains(name)) {
                    missing.add(name);
                    continue;
                }
                TensorInfo info = store.info(name);
                List<Long> shape = stored(pattern, pattern.shape(sizes, entry.getKey()));
                if (!info.shape().equals(shape)) {
                    throw new IOException(store.folder() + ": " + name + ": expected shape " + shape + " ("
                            + pattern.axes() + " with " + sizes + ") but was " + info.shape());
                }
            }
        }
        if (!missing.isEmpty()) {
            throw wrong(store, layer, some(missing), "a checkpoint without " + (missing.size() == 1 ? "it" : "them"));
        }
    }

    /** The shape of the tensor itself, for a shape of values. */
    private static List<Long> stored(TensorPattern pattern, List<Long> values) {
        if (pattern.encoding() != TensorPattern.Encoding.MXFP4) {
            return values;
        }
        List<Long> shape = new ArrayList<>(values.subList(0, values.size() - 1));
        shape.add(values.get(values.size() - 1) / Mxfp4.BLOCK);
        shape.add(Mxfp4.BLOCK / 2L);
        return shape;
    }

    private void requireNothingElse(Layout layout) throws IOException {
        Set<String> known = new LinkedHashSet<>();
        layout.tensors(LayerPart.NORM)
                .forEach(norm -> known.add(filled(norm.name(), 0))); // the block's, not the layer's
        for (TensorPattern pattern : patterns.values()) {
            for (int e = 0; e < (pattern.perExpert() ? sizes.experts() : 1); e++) {
                known.add(filled(pattern.name(), e));
                int expert = e;
                pattern.scales().ifPresent(scales -> known.add(filled(scales, expert)));
            }
        }
        Set<String> left = new TreeSet<>();
        for (String covered : layout.covers()) {
            String start = filled(covered, 0);
            for (String name : store.names()) {
                if (name.startsWith(start) && !known.contains(name)) {
                    left.add(name);
                }
            }
        }
        if (!left.isEmpty()) {
            throw wrong(store, layer, "no tensor but those of layout " + layout.id(), some(left));
        }
    }

    private String filled(String name, int expert) {
        return TensorPattern.filled(name, prefix, layer, expert);
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
        boolean eightBits = type == ElementType.F8_E4M3 || type == ElementType.F8_E5M2;
        return switch (pattern.encoding()) {
            case PLAIN -> Values.plain(tensor);
            case MXFP4 -> Values.mxfp4(tensor, scales(pattern, expert));
            case BLOCKS -> {
                List<Long> shape = pattern.shape(sizes, part);
                int rows = Math.toIntExact(shape.get(shape.size() - 2));
                int columns = Math.toIntExact(shape.get(shape.size() - 1));
                yield eightBits
                        ? Values.blocks(tensor, scales(pattern, expert), rows, columns, BLOCK)
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

    private static String some(Collection<String> names) {
        String shown = String.join(", ", names.stream().limit(MOST_SHOWN).toList());
        return names.size() <= MOST_SHOWN ? shown : shown + ", … (" + names.size() + " in all)";
    }

    private static IOException wrong(TensorStore store, int layer, String expected, String was) {
        return new IOException(store.folder() + ": layer " + layer + ": expected " + expected + " but was " + was);
    }
}
