package org.moe4j.checkpoint.config;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** A model's {@code config.json}. Where the text model of a multimodal one has a section of its own, its keys come first. */
public final class ModelConfig {
    /** Name of the file in a checkpoint. */
    public static final String FILE = "config.json";

    private static final String NESTED = "text_config";
    private static final long LONGEST = 4 << 20;
    private static final int MOST_DEPTH = 64;

    private static final ObjectMapper JSON = new ObjectMapper(JsonFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    // Names of a file would stay in a table of the whole process, and could be made to collide in it.
                    .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
                    .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxNestingDepth(MOST_DEPTH)
                            .build())
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private final String name;
    private final String json;
    private final JsonNode outer;
    private final JsonNode inner;

    private ModelConfig(String name, String json, JsonNode outer) {
        this.name = name;
        this.json = json;
        this.outer = outer;
        this.inner = outer.path(NESTED).isObject() ? outer.path(NESTED) : outer;
    }

    /**
     * Reads a configuration.
     *
     * @param path of a folder with a {@code config.json}, or of such a file
     * @return the configuration
     * @throws NoSuchFileException when there is none
     * @throws IOException when it cannot be read or is not a JSON object
     */
    public static ModelConfig read(Path path) throws IOException {
        Path file = Files.isDirectory(path) ? path.resolve(FILE) : path;
        if (!Files.isRegularFile(file)) {
            throw new NoSuchFileException(path + ": expected a " + FILE + " but found none");
        }
        if (Files.size(file) > LONGEST) {
            throw new IOException(file + ": expected at most 4 MiB but was " + Files.size(file) + " bytes");
        }
        try {
            return parse(file.toString(), Files.readString(file));
        } catch (CharacterCodingException e) {
            throw new IOException(file + ": expected UTF-8 but was malformed", e);
        }
    }

    /**
     * Reads a configuration from text.
     *
     * @param name for messages
     * @param text a JSON object
     * @return the configuration
     * @throws IOException when it is not a JSON object
     */
    public static ModelConfig parse(String name, String text) throws IOException {
        try {
            JsonNode root = JSON.readTree(text);
            if (root == null || !root.isObject()) {
                boolean empty = root == null || root.isMissingNode();
                throw new IOException(
                        name + ": expected a JSON object but was " + (empty ? "empty" : "something else"));
            }
            return new ModelConfig(name, text, root);
        } catch (JsonProcessingException e) {
            throw new IOException(name + ": expected JSON but was broken (" + e.getOriginalMessage() + ")", e);
        }
    }

    /**
     * What messages call it.
     *
     * @return a path, mostly
     */
    public String name() {
        return name;
    }

    /**
     * The value of a key as text: of the text model if it has the key, else of the whole model. Dots lead into objects.
     *
     * @param key as {@code num_experts} or {@code quantization_config.weight_block_size}
     * @return numbers and truth values as JSON writes them, lists without blanks; empty for an absent key and for null
     */
    public Optional<String> text(String key) {
        return node(key).map(node -> node.isValueNode() ? node.asText() : node.toString());
    }

    private Optional<JsonNode> node(String key) {
        return Stream.of(inner, outer)
                .map(model -> at(model, key))
                .filter(node -> !node.isMissingNode() && !node.isNull())
                .findFirst();
    }

    /**
     * All of it.
     *
     * @return the text that it was read from
     */
    public String json() {
        return json;
    }

    /**
     * The configuration with another value of a key: wherever the key is, or, if it is nowhere, in the text model. Every other character
     * of {@link #json} stays.
     *
     * @param key without dots, or one that is there
     * @param value as JSON writes it
     * @return another configuration
     * @throws IOException when the value is not JSON
     */
    public ModelConfig with(String key, String value) throws IOException {
        List<List<String>> paths = paths(key);
        String changed = json;
        for (List<String> path : paths.isEmpty() ? List.of(inText(key)) : paths) {
            changed = ConfigText.with(changed, path, value);
        }
        return parse(name, changed);
    }

    /**
     * The configuration without a key.
     *
     * @param key in the text model or the whole one
     * @return another configuration; an equal one if the key is nowhere
     * @throws IOException when it is no configuration any more
     */
    public ModelConfig without(String key) throws IOException {
        String changed = json;
        for (List<String> path : paths(key)) {
            changed = ConfigText.without(changed, path);
        }
        return parse(name, changed);
    }

    /** Where a key is: in the text model, in the whole one, in both or in neither. */
    private List<List<String>> paths(String key) {
        List<List<String>> paths = new ArrayList<>();
        if (!at(inner, key).isMissingNode()) {
            paths.add(inText(key));
        }
        if (nested() && !at(outer, key).isMissingNode()) {
            paths.add(List.of(key.split("\\.", -1)));
        }
        return paths;
    }

    private boolean nested() {
        return outer.path(NESTED).isObject();
    }

    private List<String> inText(String key) {
        Stream<String> parts = Stream.of(key.split("\\.", -1));
        return (nested() ? Stream.concat(Stream.of(NESTED), parts) : parts).toList();
    }

    /**
     * Whether a key is there and has no value.
     *
     * @param key as in {@link #text}
     * @return true for null, false for an absent key
     */
    public boolean isNull(String key) {
        return at(inner, key).isNull() || at(outer, key).isNull();
    }

    private static JsonNode at(JsonNode start, String key) {
        JsonNode node = start;
        for (String part : key.split("\\.", -1)) {
            node = node.path(part);
        }
        return node;
    }

    /**
     * The exception for a key with a wrong value.
     *
     * @param key of the configuration
     * @param expected what it should be
     * @param was what it is
     * @return to be thrown
     */
    public IllegalArgumentException wrong(String key, String expected, String was) {
        return new IllegalArgumentException(name + ": " + key + ": expected " + expected + " but was " + was);
    }

    @Override
    public String toString() {
        return "ModelConfig[" + name + "]";
    }
}
