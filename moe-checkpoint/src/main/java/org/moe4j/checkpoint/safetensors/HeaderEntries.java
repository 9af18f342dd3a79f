package org.moe4j.checkpoint.safetensors;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads a header's entries. What it keeps of them is limited, whatever the length of the header. */
final class HeaderEntries {
    private static final int MOST_SIZES = 16;
    private static final int MOST_ENTRIES = 100_000;
    private static final long MOST_CHARACTERS = 1 << 23;

    private final String file;
    private final JsonParser json;
    private final Map<String, TensorInfo> tensors = new LinkedHashMap<>();
    private final Map<String, String> metadata = new LinkedHashMap<>();
    private long characters;

    HeaderEntries(String file, JsonParser json) {
        this.file = file;
        this.json = json;
    }

    /** Tensors by name, in the order of the header. */
    Map<String, TensorInfo> tensors() {
        return tensors;
    }

    Map<String, String> metadata() {
        return metadata;
    }

    void readAll() throws IOException {
        json.nextToken();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            if (name.equals(Header.METADATA)) {
                readMetadata();
            } else {
                requireRoom(name);
                count(name);
                tensors.put(name, tensor(name));
            }
        }
    }

    private void readMetadata() throws IOException {
        require(json.nextToken() == JsonToken.START_OBJECT, Header.METADATA, "an object");
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            require(
                    json.nextToken() == JsonToken.VALUE_STRING,
                    Header.METADATA,
                    "text as value of " + Header.shown(name));
            String text = json.getText();
            requireRoom(name);
            count(name);
            count(text);
            metadata.put(name, text);
        }
    }

    private void requireRoom(String name) throws IOException {
        require(
                tensors.size() + metadata.size() < MOST_ENTRIES,
                name,
                "at most " + MOST_ENTRIES + " tensors and texts of " + Header.METADATA);
    }

    /** A text that is kept. */
    private void count(String text) throws IOException {
        require(isWhole(text), Header.shown(text), "names and texts without half a character");
        characters += text.length();
        require(
                characters <= MOST_CHARACTERS,
                "header",
                "names and texts of at most " + MOST_CHARACTERS + " characters together");
    }

    /** Whether it can be written again: escapes of JSON may name one half of a pair alone. */
    private static boolean isWhole(String text) {
        return text.codePoints().noneMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE);
    }

    private TensorInfo tensor(String name) throws IOException {
        @Nullable ElementType type = null;
        @Nullable List<Long> shape = null;
        @Nullable List<Long> offsets = null;
        require(json.nextToken() == JsonToken.START_OBJECT, name, "an object");
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String key = json.currentName();
            json.nextToken();
            switch (key) {
                case "dtype" -> type = type(name);
                case "shape" -> shape = numbers(name, key, MOST_SIZES);
                case "data_offsets" -> offsets = numbers(name, key, 2);
                default -> throw Header.wrong(file, name, "dtype, shape and data_offsets only", key);
            }
        }
        if (type == null || shape == null || offsets == null || offsets.size() != 2) {
            throw Header.wrong(file, name, "dtype, shape and two data_offsets", "an entry without them");
        }
        long begin = offsets.get(0);
        long end = offsets.get(1);
        long bytes = bytes(name, type, shape);
        if (end < begin || end - begin != bytes) {
            throw Header.wrong(
                    file, name, bytes + " bytes (" + type + " " + shape + ")", "data_offsets " + begin + " to " + end);
        }
        return new TensorInfo(name, type, shape, begin, end);
    }

    private ElementType type(String name) throws IOException {
        require(json.currentToken() == JsonToken.VALUE_STRING, name, "text as dtype");
        Optional<ElementType> type = ElementType.named(json.getText());
        if (type.isEmpty()) {
            throw Header.wrong(file, name, "one of " + List.of(ElementType.values()) + " as dtype", json.getText());
        }
        return type.get();
    }

    private List<Long> numbers(String name, String key, int most) throws IOException {
        require(json.currentToken() == JsonToken.START_ARRAY, name, "a list as " + key);
        List<Long> numbers = new ArrayList<>();
        while (json.nextToken() != JsonToken.END_ARRAY) {
            boolean whole = json.currentToken() == JsonToken.VALUE_NUMBER_INT
                    && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER
                    && !json.getText().startsWith("-");
            require(whole, name, "whole numbers from 0 to 2^63 - 1 in " + key);
            require(numbers.size() < most, name, "at most " + most + " numbers in " + key);
            numbers.add(json.getLongValue());
        }
        return numbers;
    }

    private long bytes(String name, ElementType type, List<Long> shape) throws SafetensorsFormatException {
        try {
            long elements = 1;
            for (long size : shape) {
                elements = Math.multiplyExact(elements, size);
            }
            return Math.multiplyExact(elements, type.bytes());
        } catch (ArithmeticException e) {
            throw new SafetensorsFormatException(
                    file + ": " + Header.shown(name) + ": expected a shape of less than 2^63 bytes but was " + shape,
                    e);
        }
    }

    private void require(boolean holds, String part, String expected) throws IOException {
        if (!holds) {
            throw Header.wrong(
                    file,
                    part,
                    expected,
                    json.currentToken() + " at character "
                            + json.currentTokenLocation().getCharOffset());
        }
    }
}
