package org.moe4j.core.preset;

import java.util.Collections;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Spelling;

/** Which keys a preset may have, and the two lists that mark some of them. */
final class PresetKeys {
    static final String DEFAULTS = "defaults";
    static final String CHOSEN = "chosen";

    private static final Set<String> SECTIONS =
            Set.of("experts", "router", "shared", "merge", "capacity", "losses", "noise");
    private static final Set<String> HEAD = Set.of("name", "source", "note", DEFAULTS, CHOSEN);

    private PresetKeys() {}

    /** Refuses a key of no section, and a file without name or source. */
    static void requireKnown(SortedMapOfText values) {
        for (String key : values.keys()) {
            int dot = key.indexOf('.');
            String head = dot < 0 ? key : key.substring(0, dot);
            Set<String> known = dot < 0 ? HEAD : SECTIONS;
            if (!known.contains(head)) {
                throw values.unknown(
                        key, Spelling.closest(head, known).map(right -> right + key.substring(head.length())));
            }
        }
        values.required("name");
        values.required("source");
    }

    static void requireSection(String name) {
        if (!SECTIONS.contains(name)) {
            throw Require.expected("section", "one of " + new TreeSet<>(SECTIONS), name);
        }
    }

    /** The keys of a list; each has to be a key of the file, and to stand there once. */
    static SortedSet<String> marked(SortedMapOfText values, String list) {
        String text = values.get(list);
        SortedSet<String> marked = new TreeSet<>();
        if (text == null) {
            return Collections.unmodifiableSortedSet(marked);
        }
        Set<String> known = new HashSet<>(values.keys());
        known.removeAll(HEAD);
        for (String item : text.split(",", -1)) {
            String key = item.trim();
            if (!known.contains(key)) {
                throw wrong(
                        values,
                        list,
                        "keys of this file",
                        key.isEmpty() ? "nothing beside a comma" : key,
                        Spelling.closest(key, known));
            }
            if (!marked.add(key)) {
                throw wrong(values, list, "each key once", key + " twice", Optional.empty());
            }
        }
        return Collections.unmodifiableSortedSet(marked);
    }

    /** Refuses a key that is in both lists. */
    static void requireApart(SortedMapOfText values, Set<String> defaults, Set<String> chosen) {
        for (String key : chosen) {
            if (defaults.contains(key)) {
                throw wrong(values, CHOSEN, "keys that are not in " + DEFAULTS, key, Optional.empty());
            }
        }
    }

    private static IllegalArgumentException wrong(
            SortedMapOfText values, String list, String expected, String was, Optional<String> closest) {
        String argument = "preset " + values.id() + ": " + list;
        return closest.map(right -> Require.expected(argument, expected, was, "did you mean " + right + "?"))
                .orElseGet(() -> Require.expected(argument, expected, was));
    }
}
