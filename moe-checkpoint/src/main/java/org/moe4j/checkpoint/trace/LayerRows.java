package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorInfo;

/**
 * What a file holds of one layer, of which at least logits or indices.
 *
 * @param logits (T×E)
 * @param indices (T×K)
 * @param weights (T×K), beside indices alone
 */
record LayerRows(Optional<StoredRows> logits, Optional<StoredRows> indices, Optional<StoredRows> weights) {
    private static final LayerRows NOTHING = new LayerRows(Optional.empty(), Optional.empty(), Optional.empty());

    /** The layers of a NumPy array: [T, E] or [T, K], or as many of these as there are layers. */
    static Map<String, LayerRows> of(Path file, StoredTensor array) throws IOException {
        List<Long> shape = array.info().shape();
        if (shape.size() != 2 && shape.size() != 3) {
            throw TraceFormat.wrong(
                    file, NumpyHeader.PART, "shape [tokens, experts] or [layers, tokens, experts]", shape);
        }
        boolean deep = shape.size() == 3;
        long rows = shape.get(shape.size() - 2);
        long columns = shape.get(shape.size() - 1);
        long layers = deep ? shape.get(0) : 1;
        if (layers < 1 || layers > TraceFormat.MOST_LAYERS) {
            throw TraceFormat.wrong(file, NumpyHeader.PART, "1.." + TraceFormat.MOST_LAYERS + " layers", shape);
        }
        ElementType type = array.info().type();
        if (type == ElementType.BOOL) {
            throw TraceFormat.wrong(file, NumpyHeader.PART, "logits or indices of experts", "an array of booleans");
        }
        String kind = TraceFormat.FLOATS.contains(type) ? TraceFormat.LOGITS : TraceFormat.INDICES;
        Map<String, LayerRows> all = new LinkedHashMap<>();
        for (long layer = 0; layer < layers; layer++) {
            String part = deep ? NumpyHeader.PART + "[" + layer + "]" : NumpyHeader.PART;
            StoredRows of = StoredRows.of(file, part, array, layer * rows * columns, rows, columns);
            all.put(Long.toString(layer), NOTHING.with(kind, of));
        }
        return all;
    }

    /** The layers of a file of tensors, in their order. */
    static Map<String, LayerRows> of(Path path, SafetensorsFile file) throws IOException {
        Map<String, LayerRows> all = new TreeMap<>();
        boolean suffixed = false;
        for (TensorInfo tensor : file.tensors().values()) {
            int dot = tensor.name().indexOf('.');
            String kind = dot < 0 ? tensor.name() : tensor.name().substring(0, dot);
            if (Set.of(TraceFormat.LOGITS, TraceFormat.INDICES, TraceFormat.WEIGHTS)
                    .contains(kind)) {
                String layer = dot < 0 ? TraceFormat.ONLY_LAYER : tensor.name().substring(dot + 1);
                if (!all.isEmpty() && suffixed != dot >= 0) {
                    throw TraceFormat.wrong(
                            path, tensor.name(), "either no layer's name in all tensors or one in each", "both");
                }
                suffixed = dot >= 0;
                if (!TraceFormat.isLayer(layer)) {
                    throw TraceFormat.wrong(path, kind, "a layer's name of letters, digits, dots, - and _", layer);
                }
                if (all.size() == TraceFormat.MOST_LAYERS) {
                    throw TraceFormat.wrong(path, "file", "at most " + TraceFormat.MOST_LAYERS + " layers", "more");
                }
                all.put(layer, all.getOrDefault(layer, NOTHING).with(kind, rows(path, file, tensor)));
            }
        }
        return inOrder(path, all);
    }

    private static StoredRows rows(Path path, SafetensorsFile file, TensorInfo tensor) throws IOException {
        Set<ElementType> types =
                tensor.name().startsWith(TraceFormat.INDICES) ? TraceFormat.INTEGERS : TraceFormat.FLOATS;
        if (!types.contains(tensor.type())) {
            throw TraceFormat.wrong(path, tensor.name(), "one of the types " + EnumSet.copyOf(types), tensor.type());
        }
        if (tensor.shape().size() != 2) {
            throw TraceFormat.wrong(path, tensor.name(), "shape [tokens, experts]", tensor.shape());
        }
        StoredTensor stored = file.tensor(tensor.name());
        return StoredRows.of(
                path,
                tensor.name(),
                stored,
                0,
                tensor.shape().get(0),
                tensor.shape().get(1));
    }

    private static Map<String, LayerRows> inOrder(Path path, Map<String, LayerRows> all) throws IOException {
        if (all.isEmpty()) {
            throw TraceFormat.wrong(path, "file", "tensors router_logits.<layer> or topk_index.<layer>", "none");
        }
        Map<String, LayerRows> sorted = new LinkedHashMap<>();
        for (String name : TraceFormat.sorted(all.keySet())) {
            LayerRows layer = all.getOrDefault(name, NOTHING);
            if (layer.weights.isPresent() && layer.indices.isEmpty()) {
                throw TraceFormat.wrong(path, layer.weights.get().name(), "topk_index beside it", "absent");
            }
            sorted.put(name, layer);
        }
        return sorted;
    }

    private LayerRows with(String kind, StoredRows rows) {
        return switch (kind) {
            case TraceFormat.LOGITS -> new LayerRows(Optional.of(rows), indices, weights);
            case TraceFormat.INDICES -> new LayerRows(logits, Optional.of(rows), weights);
            default -> new LayerRows(logits, indices, Optional.of(rows));
        };
    }

    LayerRows masked(KeptRows kept) {
        return new LayerRows(
                logits.map(rows -> rows.masked(kept)),
                indices.map(rows -> rows.masked(kept)),
                weights.map(rows -> rows.masked(kept)));
    }

    /** All matrices there are. */
    List<StoredRows> all() {
        return Stream.of(logits, indices, weights).flatMap(Optional::stream).toList();
    }
}
