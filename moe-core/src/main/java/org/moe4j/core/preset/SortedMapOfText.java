package org.moe4j.core.preset;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.CharacterCodingException;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Keys and trimmed values of a properties file; a key that stands twice is an error, not a silent choice. */
final class SortedMapOfText {
    private final String id;
    private final Map<String, String> values;

    private SortedMapOfText(String id, Map<String, String> values) {
        this.id = id;
        this.values = Collections.unmodifiableMap(new TreeMap<>(values));
    }

    static SortedMapOfText read(String id, Reader reader) throws IOException {
        Map<String, String> values = new TreeMap<>();
        Properties properties = new Properties() {
            private static final long serialVersionUID = 1L;

            @Override
            public synchronized @Nullable Object put(Object key, Object value) {
                String name = key.toString().replace("\uFEFF", ""); // a byte order mark belongs to no key
                String trimmed = value.toString().trim();
                if (trimmed.isEmpty()) {
                    throw new IllegalArgumentException(
                            "preset " + id + ": expected a value for " + name + " but was empty");
                }
                if (values.put(name, trimmed) != null) {
                    throw new IllegalArgumentException(
                            "preset " + id + ": expected each key once but was " + name + " twice");
                }
                return null;
            }
        };
        try {
            properties.load(reader);
        } catch (CharacterCodingException other) {
            throw new IOException("preset " + id + ": expected UTF-8 text but was something else", other);
        } catch (IllegalArgumentException fault) {
            String message = String.valueOf(fault.getMessage());
            throw message.startsWith("preset ")
                    ? fault
                    : new IllegalArgumentException(
                            "preset " + id + ": expected a properties file but was " + message, fault);
        }
        return new SortedMapOfText(id, values);
    }

    static SortedMapOfText of(String id, Map<String, String> values) {
        return new SortedMapOfText(id, values);
    }

    /** Name of the file, for messages. */
    String id() {
        return id;
    }

    @Nullable
    String get(String key) {
        return values.get(key);
    }

    String required(String key) {
        String value = values.get(key);
        if (value == null) {
            throw new IllegalArgumentException("preset " + id + ": expected a value for " + key + " but was absent");
        }
        return value;
    }

    Set<String> keys() {
        return values.keySet();
    }

    /** The same with other values for some keys. */
    SortedMapOfText with(Map<String, String> changed) {
        Map<String, String> merged = new TreeMap<>(values);
        merged.putAll(changed);
        return new SortedMapOfText(id, merged);
    }

    /** The exception for a key that nobody knows, with the right one where it is near. */
    IllegalArgumentException unknown(String key, Optional<String> closest) {
        String hint = closest.map(right -> "; did you mean " + right + "?").orElse("");
        return new IllegalArgumentException("preset " + id + ": expected a known key but was " + key + hint);
    }
}
