package org.moe4j.core.preset;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Spelling;

/**
 * One model's MoE layer as named values from a {@code .properties} file, with the source of each.
 *
 * <p>This class knows the <em>format</em>: the keys {@code name}, {@code source}, {@code note}, {@code defaults} and
 * {@code chosen}, and the sections {@code experts}, {@code router}, {@code shared}, {@code merge} and {@code capacity}.
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
            throw new NoSuchElementException("preset: expected one of " + names() + " but was " + name);
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
     * One section.
     *
     * @param name {@code experts}, {@code router}, {@code shared}, {@code merge} or {@code capacity}
     * @return the section; empty when the file has no key of it
     */
    public Section section(String name) {
        PresetKeys.requireSection(name);
        return new Section(values, name);
    }

    /**
     * The same conventions at another size: what tests and benchmarks run. The shared width keeps its ratio to the
     * routed one, rounded, at least 1.
     *
     * @param hiddenSize D
     * @param intermediateSize F
     * @return a preset that differs in its sizes only
     */
    public Preset scaledTo(int hiddenSize, int intermediateSize) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        Require.atLeast("intermediateSize", intermediateSize, 1);
        Map<String, String> scaled = new TreeMap<>();
        if (section("shared").has("intermediateSize")) {
            double ratio = (double) section("shared").integer("intermediateSize")
                    / section("experts").integer("intermediateSize");
            scaled.put("shared.intermediateSize", Long.toString(Math.max(1, Math.round(ratio * intermediateSize))));
        }
        scaled.put("experts.hiddenSize", Integer.toString(hiddenSize));
        scaled.put("experts.intermediateSize", Integer.toString(intermediateSize));
        return new Preset(values.with(scaled));
    }

    @Override
    public String toString() {
        return "Preset[" + values.id() + "]";
    }

    /** The keys of one section, read by the module that owns their meaning. */
    public static final class Section {
        private final SortedMapOfText values;
        private final String section;

        private Section(SortedMapOfText values, String section) {
            this.values = values;
            this.section = section;
        }

        /**
         * Whether the file says nothing of this section.
         *
         * @return true without keys
         */
        public boolean isEmpty() {
            return values.keys().stream().noneMatch(key -> key.startsWith(section + "."));
        }

        /**
         * Whether the file gives a value for a key.
         *
         * @param key without the section
         * @return false when it is absent
         */
        public boolean has(String key) {
            return values.get(section + "." + key) != null;
        }

        /**
         * A whole number that has to be there.
         *
         * @param key without the section
         * @return its value
         */
        public int integer(String key) {
            String value = values.required(section + "." + key);
            try {
                return Integer.parseInt(value);
            } catch (NumberFormatException e) {
                throw wrong(key, "a whole number", value);
            }
        }

        /**
         * A word.
         *
         * @param key without the section
         * @param fallback when absent
         * @return its value
         */
        public String text(String key, String fallback) {
            String value = values.get(section + "." + key);
            return value == null ? fallback : value;
        }

        /**
         * A number.
         *
         * @param key without the section
         * @param fallback when absent
         * @return its value
         */
        public double decimal(String key, double fallback) {
            String value = values.get(section + "." + key);
            if (value == null) {
                return fallback;
            }
            try {
                return Double.parseDouble(value);
            } catch (NumberFormatException e) {
                throw wrong(key, "a number", value);
            }
        }

        /**
         * A yes or no.
         *
         * @param key without the section
         * @param fallback when absent
         * @return its value
         */
        public boolean flag(String key, boolean fallback) {
            String value = text(key, Boolean.toString(fallback));
            if (!value.equals("true") && !value.equals("false")) {
                throw wrong(key, "true or false", value);
            }
            return value.equals("true");
        }

        /**
         * One of an enum's constants, written in lower case with dashes: {@code sum-of-top-2}.
         *
         * @param key without the section
         * @param type the enum
         * @param fallback when absent
         * @param <E> the enum
         * @return the constant
         */
        public <E extends Enum<E>> E constant(String key, Class<E> type, E fallback) {
            String value = text(key, written(fallback));
            TreeSet<String> known = new TreeSet<>();
            for (E constant : type.getEnumConstants()) {
                if (written(constant).equals(value)) {
                    return constant;
                }
                known.add(written(constant));
            }
            throw wrong(key, "one of " + known, value);
        }

        private static String written(Enum<?> constant) {
            return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
        }

        /**
         * Refuses a misspelt key: it must not be silence.
         *
         * @param known the keys of this section, without it
         */
        public void rejectUnknown(Set<String> known) {
            for (String key : values.keys()) {
                if (key.startsWith(section + ".") && !known.contains(key.substring(section.length() + 1))) {
                    throw values.unknown(
                            key,
                            Spelling.closest(key.substring(section.length() + 1), known)
                                    .map(right -> section + "." + right));
                }
            }
        }

        /**
         * The exception for a value that its owner does not understand.
         *
         * @param key without the section
         * @param expected what was expected
         * @param was what was found
         * @return an exception to throw
         */
        public IllegalArgumentException wrong(String key, String expected, String was) {
            return Require.expected("preset " + values.id() + ": " + section + "." + key, expected, was);
        }
    }
}
