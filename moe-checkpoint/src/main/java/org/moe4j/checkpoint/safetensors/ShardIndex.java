package org.moe4j.checkpoint.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** The index of a checkpoint in several files: which tensor is in which. */
final class ShardIndex {
    private static final long LONGEST = 100_000_000;
    private static final int MOST_TENSORS = 500_000;
    private static final int MOST_DEPTH = 64;
    private static final int LONGEST_TEXT = 65_536;

    private static final JsonFactory JSON = JsonFactory.builder()
            // Names of a file would stay in a table of the whole process, and could be made to collide in it.
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MOST_DEPTH)
                    .maxStringLength(LONGEST_TEXT)
                    .maxNameLength(LONGEST_TEXT)
                    .build())
            .build();

    private ShardIndex() {}

    /** File names by the names of tensors, in alphabetical order. */
    static Map<String, String> read(Path index) throws IOException {
        SafetensorsFile.requireFile(index);
        if (Files.size(index) > LONGEST) {
            throw new SafetensorsFormatException(
                    index + ": expected at most " + LONGEST + " bytes but was " + Files.size(index));
        }
        try (InputStream in = Files.newInputStream(index)) {
            return parse(index.toString(), in);
        }
    }

    static Map<String, String> parse(String index, InputStream in) throws IOException {
        // by itself, the parser would put other characters in the place of malformed ones
        try (JsonParser json = JSON.createParser(new InputStreamReader(in, StandardCharsets.UTF_8.newDecoder()))) {
            Map<String, String> fileOf = new TreeMap<>();
            boolean found = false;
            require(json.nextToken() == JsonToken.START_OBJECT, index, "a JSON object", json);
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                boolean map = json.currentName().equals("weight_map");
                json.nextToken();
                if (map) {
                    require(!found, index, "one weight_map", json);
                    readMap(index, json, fileOf);
                    found = true;
                } else {
                    json.skipChildren();
                }
            }
            require(found, index, "an object weight_map", json);
            require(json.nextToken() == null, index, "nothing after the object", json);
            return fileOf;
        } catch (JsonProcessingException e) {
            throw new SafetensorsFormatException(
                    index + ": expected JSON but was broken (" + Header.shown(e.getOriginalMessage()) + ")", e);
        } catch (CharacterCodingException e) {
            throw new SafetensorsFormatException(index + ": expected UTF-8 but was malformed", e);
        }
    }

    private static void readMap(String index, JsonParser json, Map<String, String> fileOf) throws IOException {
        require(json.currentToken() == JsonToken.START_OBJECT, index, "an object as weight_map", json);
        Map<String, String> files = new HashMap<>(); // one text for all tensors of a file
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String tensor = json.currentName();
            require(fileOf.size() < MOST_TENSORS, index, "at most " + MOST_TENSORS + " tensors", json);
            require(json.nextToken() == JsonToken.VALUE_STRING, index, "a file name for " + Header.shown(tensor), json);
            String file = files.computeIfAbsent(json.getText(), text -> text);
            require(isPlain(file), index, "the name of a file beside it for " + Header.shown(tensor), json);
            require(
                    fileOf.put(tensor, file) == null,
                    index,
                    "each tensor once, not " + Header.shown(tensor) + " twice,",
                    json);
        }
    }

    /** Whether it is the name of something in a folder, and of nothing elsewhere. */
    private static boolean isPlain(String file) {
        try {
            return !file.isEmpty()
                    && !file.contains("/")
                    && !file.contains("\\")
                    && !file.equals("..")
                    && Path.of(file).getNameCount() == 1
                    && !Path.of(file).isAbsolute();
        } catch (InvalidPathException e) {
            return false;
        }
    }

    private static void require(boolean holds, String index, String expected, JsonParser json) throws IOException {
        if (!holds) {
            String was = json.currentToken() == JsonToken.VALUE_STRING
                    ? Header.shown(json.getText())
                    : "" + json.currentToken();
            throw new SafetensorsFormatException(index + ": expected " + expected + " but was " + was + " at line "
                    + json.currentTokenLocation().getLineNr());
        }
    }
}
