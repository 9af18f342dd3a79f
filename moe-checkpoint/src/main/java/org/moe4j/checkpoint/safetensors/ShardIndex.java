package org.moe4j.checkpoint.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** The index of a checkpoint in several files: which tensor is in which. */
final class ShardIndex {
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private ShardIndex() {}

    /** File names by the names of tensors, in alphabetical order. */
    static Map<String, String> read(Path index) throws IOException {
        try (InputStream in = Files.newInputStream(index);
                JsonParser json = JSON.createParser(in)) {
            Map<String, String> fileOf = new TreeMap<>();
            boolean found = false;
            require(json.nextToken() == JsonToken.START_OBJECT, index, "a JSON object", json);
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                boolean map = json.currentName().equals("weight_map");
                json.nextToken();
                if (map) {
                    readMap(index, json, fileOf);
                    found = true;
                } else {
                    json.skipChildren();
                }
            }
            require(found, index, "an object weight_map", json);
            return fileOf;
        } catch (JsonProcessingException e) {
            throw new SafetensorsFormatException(
                    index + ": expected JSON but was broken (" + e.getOriginalMessage() + ")", e);
        }
    }

    private static void readMap(Path index, JsonParser json, Map<String, String> fileOf) throws IOException {
        require(json.currentToken() == JsonToken.START_OBJECT, index, "an object as weight_map", json);
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String tensor = json.currentName();
            require(json.nextToken() == JsonToken.VALUE_STRING, index, "a file name for " + tensor, json);
            String file = json.getText();
            boolean plain = !file.isEmpty() && !file.contains("/") && !file.contains("\\") && !file.equals("..");
            require(plain, index, "the name of a file beside it for " + tensor, json);
            fileOf.put(tensor, file);
        }
    }

    private static void require(boolean holds, Path index, String expected, JsonParser json) throws IOException {
        if (!holds) {
            String was = json.currentToken() == JsonToken.VALUE_STRING ? json.getText() : "" + json.currentToken();
            throw new SafetensorsFormatException(index + ": expected " + expected + " but was " + was + " at line "
                    + json.currentTokenLocation().getLineNr());
        }
    }
}
