package org.moe4j.checkpoint.layout;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Properties;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.internal.Spelling;

/** The lines of a layout's file, by their keys. */
final class LayoutLines {
    private static final String FOLDER = "/moe/layout/";

    private final String id;
    private final SortedMap<String, String> values;

    private LayoutLines(String id, SortedMap<String, String> values) {
        this.id = id;
        this.values = values;
    }

    /** Names of the files of the library. */
    static List<String> names() {
        return list(resource("index").values.getOrDefault("layouts", ""));
    }

    /** A file of the library. */
    static LayoutLines named(String id) {
        if (!names().contains(id)) {
            throw new NoSuchElementException("layout: expected one of " + names() + " but was " + id
                    + Spelling.closest(id, names())
                            .map(right -> "; did you mean " + right + "?")
                            .orElse(""));
        }
        return resource(id);
    }

    private static LayoutLines resource(String id) {
        String file = FOLDER + id + ".properties";
        try (InputStream stream = LayoutLines.class.getResourceAsStream(file)) {
            if (stream == null) {
                throw new IllegalStateException("layout " + id + ": expected the resource " + file + " but found none");
            }
            return read(id, new InputStreamReader(stream, StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException("layout " + id + ": expected a readable resource", e);
        }
    }

    /** A file of a user. */
    static LayoutLines load(Path file) throws IOException {
        Path last = file.getFileName();
        String id = (last == null ? file : last).toString().replaceFirst("\\.properties$", "");
        try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            return read(id, reader);
        } catch (CharacterCodingException other) {
            throw new IOException(file + ": expected UTF-8 text but was something else", other);
        }
    }

    private static LayoutLines read(String id, Reader reader) throws IOException {
        SortedMap<String, String> values = new TreeMap<>();
        Properties properties = new Properties() {
            private static final long serialVersionUID = 1L;

            @Override
            public synchronized @Nullable Object put(Object key, Object value) {
                if (values.put(key.toString(), value.toString().trim()) != null) {
                    throw new IllegalArgumentException(
                            "layout " + id + ": expected each key once but was " + key + " twice");
                }
                return null;
            }
        };
        try {
            properties.load(reader);
        } catch (IllegalArgumentException fault) {
            String message = String.valueOf(fault.getMessage());
            throw message.startsWith("layout ")
                    ? fault
                    : new IllegalArgumentException(
                            "layout " + id + ": expected a properties file but was " + message, fault);
        }
        return new LayoutLines(id, values);
    }

    String id() {
        return id;
    }

    Iterable<String> keys() {
        return values.keySet();
    }

    Optional<String> find(String key) {
        return Optional.ofNullable(values.get(key));
    }

    String required(String key) {
        return find(key).orElseThrow(() -> wrong(key, "a line", "absent"));
    }

    /** Parts between commas; empty for an absent line. */
    List<String> listOf(String key) {
        return find(key).map(LayoutLines::list).orElse(List.of());
    }

    /** The lines whose keys begin so, without this beginning. */
    SortedMap<String, String> below(String start) {
        SortedMap<String, String> found = new TreeMap<>();
        values.forEach((key, value) -> {
            if (key.startsWith(start)) {
                found.put(key.substring(start.length()), value);
            }
        });
        return found;
    }

    IllegalArgumentException wrong(String key, String expected, String was) {
        return new IllegalArgumentException("layout " + id + ": " + key + ": expected " + expected + " but was " + was);
    }

    private static List<String> list(String text) {
        return Arrays.stream(text.split(",", -1)).map(String::trim).toList();
    }
}
