package org.moe4j.checkpoint.layout;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.Numbers;
import org.moe4j.checkpoint.safetensors.StoredRounding;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.reference.ReferenceBackend;

/** The tensors of a layer that are stored in 4 bits, as tensors of plain numbers in the names and shapes that the family has for these. */
final class UnpackedExperts {
    private final LayerTensors tensors;
    private final Sizes sizes;
    private final Map<LayerPart, TensorPattern> plain = new EnumMap<>(LayerPart.class);

    /**
     * Finds the other names and shapes.
     *
     * @param packed parts in 4 bits
     * @throws IllegalArgumentException when the family has none
     */
    UnpackedExperts(Layout layout, LayerTensors tensors, Sizes sizes, List<LayerPart> packed) {
        this.tensors = tensors;
        this.sizes = sizes;
        for (LayerPart part : packed) {
            Optional<TensorPattern> pattern = layout.tensors(part).stream()
                    .filter(any -> any.encoding() == TensorPattern.Encoding.PLAIN)
                    .findFirst();
            plain.put(
                    part,
                    pattern.orElseThrow(() -> new IllegalArgumentException(
                            "dtype: expected a layout that has experts in more than 4 bits but was " + layout.id())));
        }
    }

    /** What takes the place of each stored tensor: a plain one for the first of its parts, nothing for the others. */
    Map<String, List<TensorContent>> contents(
            ElementType type, ToDoubleFunction<LayerPart> factor, StoredRounding rounding) {
        Map<String, List<LayerPart>> sharing = new LinkedHashMap<>();
        Map<String, List<TensorContent>> contents = new LinkedHashMap<>();
        plain.forEach((part, pattern) -> {
            sharing.computeIfAbsent(tensors.filled(pattern.name(), 0), absent -> new ArrayList<>())
                    .add(part);
            tensors.storedNames(part).forEach(name -> contents.put(name, List.of()));
        });
        sharing.forEach((name, parts) -> {
            LayerPart part = parts.get(0);
            List<Long> shape = pattern(part).shape(sizes, part);
            contents.put(
                    tensors.storedNames(part).get(0),
                    List.of(TensorContent.ofNumbers(
                            name, type, shape, numbers(parts, shape), factor.applyAsDouble(part), rounding)));
        });
        return contents;
    }

    private Numbers numbers(List<LayerPart> parts, List<Long> shape) {
        List<Axis> axes = pattern(parts.get(0)).axes();
        return new RowNumbers(
                () -> new PackedTensor(
                        parts.stream()
                                .map(part -> new PackedTensor.Member(part, pattern(part), sizes, this::matrix))
                                .toList(),
                        axes,
                        shape),
                Math.toIntExact(shape.get(shape.size() - 1)),
                shape.stream().reduce(1L, Math::multiplyExact));
    }

    private TensorPattern pattern(LayerPart part) {
        return Objects.requireNonNull(plain.get(part));
    }

    private Matrix matrix(LayerPart part, int expert) {
        try {
            return ReferenceBackend.instance()
                    .matrix(tensors.rowsOf(part), tensors.columnsOf(part), tensors.rows(part, expert));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
