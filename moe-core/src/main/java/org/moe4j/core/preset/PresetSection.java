package org.moe4j.core.preset;

import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Spelling;

/** The keys of one section, read by the module that owns their meaning. */
public final class PresetSection {
    private final SortedMapOfText values;
    private final String section;

    PresetSection(SortedMapOfText values, String section) {
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
        if (!value.matches("-?[0-9]+")) { // plain digits only: a file is read the same everywhere
            throw wrong(key, "a whole number", value);
        }
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw wrong(key, "a whole number below 2^31", value);
        }
    }

    /**
     * A whole number of at least 1 that has to be there.
     *
     * @param key without the section
     * @return its value
     */
    public int positive(String key) {
        int value = integer(key);
        if (value < 1) {
            throw wrong(key, "at least 1", Integer.toString(value));
        }
        return value;
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
        if (!value.matches("-?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?")) {
            throw wrong(key, "a number, as 2.5 or 1e-20", value);
        }
        double number = Double.parseDouble(value);
        if (Double.isInfinite(number) || (number == 0 && value.matches("[^eE]*[1-9].*"))) {
            throw wrong(key, "a number that double holds", value);
        }
        return number;
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
     * What the owner makes of values of this section. An argument that is refused is named as the key it was read from.
     *
     * @param path of the keys within the section, as {@code selection.}; empty for keys that stand alone
     * @param make calls a constructor whose arguments are named like the keys
     * @param <T> what is made
     * @return what was made
     */
    public <T> T checked(String path, Supplier<T> make) {
        try {
            return make.get();
        } catch (IllegalArgumentException refused) {
            String message = String.valueOf(refused.getMessage());
            throw message.startsWith("preset ")
                    ? refused
                    : new IllegalArgumentException(
                            "preset " + values.id() + ": " + section + "." + path + message, refused);
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
