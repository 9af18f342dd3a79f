package org.moe4j.checkpoint.layout;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import org.moe4j.checkpoint.config.ConfigChange;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.core.internal.Spelling;
import org.moe4j.core.preset.Preset;

/** The file of a family: how its configuration becomes a preset, which layers are MoE layers, and what its tensors are. */
public final class Layout {
    private final LayoutLines lines;
    private final LayoutRules rules;
    private final LayoutSettings settings;

    private Layout(LayoutLines lines) {
        this.lines = lines;
        rules = new LayoutRules(lines);
        settings = new LayoutSettings(rules, lines.required("family"));
    }

    /**
     * The layouts of the library.
     *
     * @return names of their files
     */
    public static List<String> names() {
        return LayoutLines.names();
    }

    /**
     * A layout of the library.
     *
     * @param id name of its file
     * @return the layout
     * @throws NoSuchElementException for an unknown name
     */
    public static Layout named(String id) {
        return new Layout(LayoutLines.named(id));
    }

    /**
     * A layout of a user.
     *
     * @param file in the notation of the library's, UTF-8
     * @return the layout
     * @throws IOException when it cannot be read
     * @throws IllegalArgumentException when a line is not in the notation, stands twice or is missing
     */
    public static Layout load(Path file) throws IOException {
        return new Layout(LayoutLines.load(file));
    }

    /**
     * The layout of a model, by its {@code model_type}, or by the keys it has if it does not say its type.
     *
     * @param config names the kind of model
     * @return the layout
     * @throws IllegalArgumentException for a kind that no layout knows
     */
    public static Layout of(ModelConfig config) {
        Optional<String> type = config.text("model_type");
        List<String> known = new ArrayList<>();
        for (String id : names()) {
            Layout layout = named(id);
            if (type.map(layout.modelTypes()::contains).orElseGet(() -> layout.recognises(config))) {
                return layout;
            }
            known.addAll(layout.modelTypes());
        }
        String hint = type.flatMap(word -> Spelling.closest(word, known))
                .map(right -> "; did you mean " + right + "?")
                .orElse("");
        throw config.wrong("model_type", "one of " + known, type.orElse("absent") + hint);
    }

    /** Whether a configuration that does not name its kind has the keys by which it can be told. */
    private boolean recognises(ModelConfig config) {
        List<String> keys = lines.listOf("recognisedBy");
        return !keys.isEmpty() && keys.stream().allMatch(key -> config.text(key).isPresent());
    }

    /**
     * Name of its file.
     *
     * @return as {@code qwen3-moe}
     */
    public String id() {
        return lines.id();
    }

    /**
     * What people call the family.
     *
     * @return as {@code Qwen3-MoE}
     */
    public String family() {
        return lines.required("family");
    }

    /**
     * The kinds of models it is for.
     *
     * @return values of {@code model_type}
     */
    public List<String> modelTypes() {
        return lines.listOf("modelTypes");
    }

    /**
     * What stands before the names of the layers.
     *
     * @return alternatives, of which a checkpoint has one
     */
    public List<String> prefixes() {
        return lines.listOf("prefixes");
    }

    /** The tensors that may hold a part; none for a part that the family does not have. */
    List<TensorPattern> tensors(LayerPart part) {
        return rules.tensors(part);
    }

    /**
     * Which parts of an MoE layer tensors hold, by their names.
     *
     * @return patterns for the tensors and for their scales, without the norms of the block
     */
    public NamePatterns<StoredPart> partNames() {
        NamePatterns<StoredPart> names = new NamePatterns<>(prefixes());
        for (LayerPart part : LayerPart.values()) {
            if (part.whose() != LayerPart.Whose.BLOCK) {
                for (TensorPattern pattern : tensors(part)) {
                    boolean pairs = pattern.encoding() == TensorPattern.Encoding.MXFP4;
                    names.add(pattern.name(), new StoredPart(part, pairs ? 2 : 1));
                    pattern.scales().ifPresent(scales -> names.add(scales, new StoredPart(part, 0)));
                }
            }
        }
        return names;
    }

    /**
     * What the names of all tensors of an MoE layer begin with; every tensor there has to be a part's.
     *
     * @return beginnings with {@code {prefix}} and {@code {layer}}
     */
    public List<String> covers() {
        return lines.listOf("covers");
    }

    /**
     * The lines about the census of a model, whose notation is the census's own.
     *
     * @return values by what follows {@code census.} in their keys
     */
    public SortedMap<String, String> censusLines() {
        return lines.below("census.");
    }

    /**
     * The settings of its MoE layers.
     *
     * @param config of a model of this family
     * @return the preset
     * @throws IllegalArgumentException when a key is absent or has a value that the family does not know
     */
    public Preset preset(ModelConfig config) {
        return settings.preset(config);
    }

    /**
     * The change of a configuration after which the router's weights have no scale.
     *
     * @return empty where a configuration of this family cannot say so
     */
    public Optional<ConfigChange> withoutRoutedScale() {
        return Optional.ofNullable(rules.changes().get("routedScale"));
    }

    /**
     * The changes of a configuration that mean a merge convention.
     *
     * @return by the names of conventions; empty where a configuration of this family cannot say which
     */
    public SortedMap<String, ConfigChange> conventions() {
        SortedMap<String, ConfigChange> found = new TreeMap<>();
        rules.changes().forEach((key, change) -> {
            if (key.startsWith("convention.")) {
                found.put(key.substring("convention.".length()), change);
            }
        });
        return found;
    }

    /**
     * What a tensor is by its name, in a layer of the model or in another that is like one, as in the blocks that predict further tokens.
     *
     * @param name of a tensor
     * @return the part of an MoE layer that it holds, or one of two that share it; empty for scales and all else
     */
    public Optional<LayerPart> partNamed(String name) {
        return Arrays.stream(LayerPart.values())
                .filter(part -> part.whose() != LayerPart.Whose.BLOCK)
                .filter(part -> tensors(part).stream().anyMatch(pattern -> pattern.names(name)))
                .findFirst();
    }

    /**
     * A refusal of its preset in the words of the configuration.
     *
     * @param config that the preset was made of
     * @param refused of a setting of the preset
     * @return names the configuration, and the key that the setting came from
     */
    public IllegalArgumentException inWordsOf(ModelConfig config, IllegalArgumentException refused) {
        return settings.inWordsOf(config, refused);
    }

    /**
     * Which layers are MoE layers.
     *
     * @param config of a model of this family
     * @return their indices, unmodifiable
     * @throws IllegalArgumentException when a key is absent or has a wrong value
     */
    public SortedSet<Integer> moeLayers(ModelConfig config) {
        return new MoeLayers(rules, config).all();
    }

    /**
     * How many layers there are, MoE layers and others.
     *
     * @param config of a model of this family
     * @return their number, without layers that only predict further tokens
     * @throws IllegalArgumentException when the key is absent or has a wrong value
     */
    public int layerCount(ModelConfig config) {
        return new MoeLayers(rules, config).count();
    }

    /**
     * The norms around its MoE layers.
     *
     * @param config of a model of this family
     * @return without parts where the layout names none
     * @throws IllegalArgumentException when a key has a wrong value
     */
    public BlockNorms norms(ModelConfig config) {
        return settings.norms(config);
    }

    @Override
    public String toString() {
        return "Layout[" + id() + "]";
    }
}
