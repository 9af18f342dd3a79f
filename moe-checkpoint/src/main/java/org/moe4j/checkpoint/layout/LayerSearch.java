package org.moe4j.checkpoint.layout;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.TensorInfo;
import org.moe4j.checkpoint.safetensors.TensorStore;

/** Finds the parts of one layer among the tensors of a checkpoint, and says what is wrong with them. */
final class LayerSearch {
    static final Set<ElementType> EIGHT_BITS = EnumSet.of(ElementType.F8_E4M3, ElementType.F8_E5M2);

    private static final Set<ElementType> PLAIN =
            EnumSet.of(ElementType.F64, ElementType.F32, ElementType.F16, ElementType.BF16);
    private static final int MOST_SHOWN = 5;

    private final Layout layout;
    private final TensorStore store;
    private final int layer;
    private final Sizes sizes;
    private final String prefix;
    private final Set<String> missing = new LinkedHashSet<>();
    private final Set<String> known = new HashSet<>();

    LayerSearch(Layout layout, TensorStore store, int layer, Sizes sizes) throws IOException {
        this.layout = layout;
        this.store = store;
        this.layer = layer;
        this.sizes = sizes;
        prefix = prefix();
    }

    /** What stands before the names of the layers in this checkpoint. */
    private String prefix() throws IOException {
        List<String> there = layout.prefixes().stream().filter(this::hasLayer).toList();
        if (there.size() > 1) {
            throw wrong("one of the beginnings " + layout.prefixes(), "several of them: " + there);
        }
        return there.isEmpty() ? layout.prefixes().get(0) : there.get(0);
    }

    private boolean hasLayer(String start) {
        return layout.covers().stream()
                .map(covered -> TensorPattern.filled(covered, start, layer, 0))
                .anyMatch(covered -> store.names().stream().anyMatch(name -> name.startsWith(covered)));
    }

    LayerTensors find(Collection<LayerPart> parts) throws IOException {
        Map<LayerPart, TensorPattern> patterns = choose(parts);
        requireEnough(patterns.values());
        for (Map.Entry<LayerPart, TensorPattern> entry : patterns.entrySet()) {
            for (int e = 0; e < tensors(entry.getValue()); e++) {
                look(entry.getKey(), entry.getValue(), e);
            }
        }
        requireAll();
        requireNothingElse();
        return new LayerTensors(store, prefix, layer, sizes, patterns);
    }

    private void requireEnough(Collection<TensorPattern> patterns) throws IOException {
        for (TensorPattern pattern : patterns) {
            if (pattern.perExpert() && sizes.experts() > store.names().size()) {
                throw wrong(
                        sizes.experts() + " tensors as " + filled(pattern.name(), 0),
                        "a checkpoint of " + store.names().size() + " tensors");
            }
        }
    }

    /** How many tensors of a kind are looked for: a configuration may ask for more experts than one could look for. */
    private int tensors(TensorPattern pattern) {
        return pattern.perExpert() ? Math.min(sizes.experts(), store.names().size()) : 1;
    }

    /** The one alternative of each part that is there; for a part that is not, the one that other parts have. */
    private Map<LayerPart, TensorPattern> choose(Collection<LayerPart> parts) throws IOException {
        Map<LayerPart, TensorPattern> chosen = new EnumMap<>(LayerPart.class);
        List<LayerPart> absent = new ArrayList<>();
        int usual = 0;
        for (LayerPart part : parts) {
            List<TensorPattern> patterns = layout.tensors(part);
            if (patterns.isEmpty()) {
                throw wrong("layout " + layout.id() + " with tensors for " + part.key(), "one without");
            }
            List<TensorPattern> there = patterns.stream().filter(this::isThere).toList();
            if (there.size() > 1) {
                throw wrong(
                        part.key() + " in one place",
                        filled(there.get(0).name(), 0) + " beside "
                                + filled(there.get(1).name(), 0));
            }
            if (there.isEmpty()) {
                absent.add(part);
            } else {
                chosen.put(part, there.get(0));
                usual = Math.max(usual, patterns.indexOf(there.get(0)));
            }
        }
        for (LayerPart part : absent) {
            List<TensorPattern> patterns = layout.tensors(part);
            chosen.put(part, patterns.get(Math.min(usual, patterns.size() - 1)));
        }
        return chosen;
    }

    private boolean isThere(TensorPattern pattern) {
        return IntStream.range(0, tensors(pattern)).anyMatch(e -> store.names().contains(filled(pattern.name(), e)));
    }

    /** Looks at one tensor of a part and at that of its scales. */
    private void look(LayerPart part, TensorPattern pattern, int expert) throws IOException {
        Optional<TensorInfo> tensor = infoOf(filled(pattern.name(), expert));
        boolean scaled = pattern.encoding() == TensorPattern.Encoding.MXFP4;
        if (tensor.isPresent()) {
            requireType(tensor.get(), pattern);
            requireShape(tensor.get(), part, pattern);
            scaled = scaled || EIGHT_BITS.contains(tensor.get().type());
        }
        if (scaled) {
            Optional<TensorInfo> scales = infoOf(filled(pattern.scales().orElseThrow(), expert));
            if (scales.isPresent()) {
                requireScales(scales.get(), part, pattern);
            }
        }
    }

    private Optional<TensorInfo> infoOf(String name) throws IOException {
        known.add(name);
        if (store.names().contains(name)) {
            return Optional.of(store.info(name));
        }
        missing.add(name);
        return Optional.empty();
    }

    private void requireType(TensorInfo tensor, TensorPattern pattern) throws IOException {
        Set<ElementType> allowed = EnumSet.copyOf(PLAIN);
        switch (pattern.encoding()) {
            case PLAIN -> {}
            case BLOCKS -> allowed.addAll(EIGHT_BITS);
            case MXFP4 -> allowed = EnumSet.of(ElementType.U8);
        }
        requireOneOf(tensor, allowed);
    }

    private void requireOneOf(TensorInfo tensor, Set<ElementType> allowed) throws IOException {
        if (!allowed.contains(tensor.type())) {
            throw new IOException(store.folder() + ": " + tensor.name() + ": expected "
                    + (allowed.size() == 1 ? "" : "one of ")
                    + String.join(", ", allowed.stream().map(Enum::name).toList())
                    + " but was " + tensor.type());
        }
    }

    private void requireShape(TensorInfo tensor, LayerPart part, TensorPattern pattern) throws IOException {
        List<Long> values = pattern.shape(sizes, part);
        String words = pattern.words(part);
        if (pattern.encoding() == TensorPattern.Encoding.MXFP4) {
            if (values.get(values.size() - 1) % Mxfp4.BLOCK != 0) {
                throw new IOException(store.folder() + ": " + tensor.name() + ": expected a last size that blocks of "
                        + Mxfp4.BLOCK + " fill but was " + values + " (" + words + ")");
            }
            words += " / " + Mxfp4.BLOCK + " x bytes of a block";
        }
        requireShape(tensor, pattern.storedShape(sizes, part), words);
    }

    private void requireScales(TensorInfo scales, LayerPart part, TensorPattern pattern) throws IOException {
        boolean mxfp4 = pattern.encoding() == TensorPattern.Encoding.MXFP4;
        requireOneOf(scales, mxfp4 ? EnumSet.of(ElementType.U8) : PLAIN);
        requireShape(
                scales,
                pattern.scalesShape(sizes, part),
                "blocks of " + (mxfp4 ? Mxfp4.BLOCK : TensorPattern.BLOCK + " x " + TensorPattern.BLOCK) + " in "
                        + pattern.words(part));
    }

    private void requireShape(TensorInfo tensor, List<Long> shape, String words) throws IOException {
        if (!tensor.shape().equals(shape)) {
            throw new IOException(store.folder() + ": " + tensor.name() + ": expected shape " + shape + " (" + words
                    + ") but was " + tensor.shape());
        }
    }

    private void requireAll() throws IOException {
        if (!missing.isEmpty()) {
            throw wrong(some(missing), "a checkpoint without " + (missing.size() == 1 ? "it" : "them"));
        }
    }

    private void requireNothingElse() throws IOException {
        for (LayerPart norm : List.of(LayerPart.NORM_BEFORE, LayerPart.NORM_BEHIND)) {
            layout.tensors(norm).forEach(pattern -> known.add(filled(pattern.name(), 0))); // the block's
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
            throw wrong("no tensor but those of layout " + layout.id(), some(left));
        }
    }

    private String filled(String name, int expert) {
        return TensorPattern.filled(name, prefix, layer, expert);
    }

    private static String some(Collection<String> names) {
        String shown = String.join(", ", names.stream().limit(MOST_SHOWN).toList());
        return names.size() <= MOST_SHOWN ? shown : shown + ", … (" + names.size() + " in all)";
    }

    private IOException wrong(String expected, String was) {
        return new IOException(store.folder() + ": layer " + layer + ": expected " + expected + " but was " + was);
    }
}
