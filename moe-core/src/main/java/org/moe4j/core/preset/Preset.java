package org.moe4j.core.preset;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Spelling;

/**
 * One model's MoE layer as named values from a {@code .properties} file, with the source of each.
 *
 * <p>This class knows the <em>format</em>: the keys {@code name}, {@code source}, {@code note}, {@code defaults} and
 * {@code chosen}, and the sections {@code experts}, {@code router}, {@code shared}, {@code merge}, {@code capacity},
 * {@code losses} and {@code noise}.
 * The meaning of a section belongs to the module that owns it, which refuses keys it does not know.
 */
public final class Preset {
    private final SortedMapOfText values;
    private final SortedSet<String> defaults;
    private final SortedSet<String> chosen;

    private Preset(SortedMapOfText values) {
        this.values = values;
        PresetKeys.requireKnown(values);
        defaults = PresetKeys.marked(values, PresetKeys.DEFAULTS);
        chosen = PresetKeys.marked(values, PresetKeys.CHOSEN);
        PresetKeys.requireApart(values, defaults, chosen);
    }

    /**
     * A preset of the library.
     *
     * @param name name of its file, as {@code olmoe-1b-7b}
     * @return the preset
     * @throws NoSuchElementException for an unknown name; the message lists the known ones
     */
    public static Preset named(String name) {
        if (!names().contains(name)) {
            String hint = Spelling.closest(name, names())
                    .map(right -> "; did you mean " + right + "?")
                    .orElse("");
            throw new NoSuchElementException("preset: expected one of " + names() + " but was " + name + hint);
        }
        return new Preset(Library.read(name));
    }

    /**
     * A preset from a file of the user.
     *
     * @param file in the same format, UTF-8
     * @return the preset
     * @throws IOException when the file cannot be read
     */
    public static Preset load(Path file) throws IOException {
        Path last = file.getFileName();
        String id = (last == null ? file : last).toString().replaceFirst("\\.properties$", "");
        try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            return new Preset(SortedMapOfText.read(id, reader));
        }
    }

    /**
     * A preset from values that stand in no file of this format, as those that a checkpoint's own configuration gives.
     *
     * @param id what messages call it
     * @param values by key, as in a file; copied
     * @return the preset
     */
    public static Preset of(String id, Map<String, String> values) {
        return new Preset(SortedMapOfText.of(id, values));
    }

    /**
     * The presets of the library.
     *
     * @return names for {@link #named}
     */
    public static SortedSet<String> names() {
        return Collections.unmodifiableSortedSet(
                new TreeSet<>(Library.read("index").keys()));
    }

    /**
     * Name of the model.
     *
     * @return as people write it
     */
    public String name() {
        return values.required("name");
    }

    /**
     * Where the values were read.
     *
     * @return never empty
     */
    public String source() {
        return values.required("source");
    }

    /**
     * What a reader has to know.
     *
     * @return empty when there is nothing to say
     */
    public String note() {
        String note = values.get("note");
        return note == null ? "" : note;
    }

    /**
     * Keys whose value is the default of a framework or of a configuration class, and not the released configuration of a
     * model.
     *
     * @return keys with their section, as {@code router.topK}; unmodifiable
     */
    public SortedSet<String> defaults() {
        return defaults;
    }

    /**
     * Keys whose value no source gives: we chose it so that the file is complete, as the sizes of a framework.
     *
     * @return keys with their section, as {@code experts.count}; unmodifiable
     */
    public SortedSet<String> chosen() {
        return chosen;
    }

    /**
     * All settings.
     *
     * @return values by keys with their section, as {@code router.topK}; unmodifiable
     */
    public SortedMap<String, String> settings() {
        SortedMap<String, String> settings = new TreeMap<>();
        for (String key : values.keys()) {
            if (key.contains(".")) {
                settings.put(key, values.required(key));
            }
        }
        return Collections.unmodifiableSortedMap(settings);
    }

    /**
     * One section.
     *
     * @param name {@code experts}, {@code router}, {@code shared}, {@code merge}, {@code capacity}, {@code losses} or
     *     {@code noise}
     * @return the section; empty when the file has no key of it
     */
    public PresetSection section(String name) {
        PresetKeys.requireSection(name);
        return new PresetSection(values, name);
    }

    /**
     * The same conventions at another size: what tests and benchmarks run. The shared width keeps its ratio to the
     * routed one and the latent size its ratio to the hidden size, rounded, at least 1.
     *
     * @param hiddenSize D
     * @param intermediateSize F
     * @return a preset that differs in its sizes only
     * @throws IllegalArgumentException for {@code hiddenSize} below 1 or {@code intermediateSize} below 1
     */
    public Preset scaledTo(int hiddenSize, int intermediateSize) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        Require.atLeast("intermediateSize", intermediateSize, 1);
        Map<String, String> scaled = new TreeMap<>();
        scale(scaled, "shared", "intermediateSize", "intermediateSize", intermediateSize);
        scale(scaled, "experts", "latentSize", "hiddenSize", hiddenSize);
        scaled.put("experts.hiddenSize", Integer.toString(hiddenSize));
        scaled.put("experts.intermediateSize", Integer.toString(intermediateSize));
        return new Preset(values.with(scaled));
    }

    /** A size that keeps its ratio to one of the routed experts, where the file has it. */
    private void scale(Map<String, String> scaled, String owner, String key, String reference, int changed) {
        PresetSection section = section(owner);
        if (!section.has(key)) {
            return;
        }
        double ratio = (double) section.positive(key) / section("experts").positive(reference);
        long size = Math.max(1, Math.round(ratio * changed));
        if (size > Integer.MAX_VALUE) {
            throw Require.expected(reference, "one that keeps " + owner + "." + key + " below 2^31", changed);
        }
        scaled.put(owner + "." + key, Long.toString(size));
    }

    @Override
    public String toString() {
        return "Preset[" + values.id() + "]";
    }
}
