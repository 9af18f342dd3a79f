package org.moe4j.checkpoint.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A header that was found to be in order.
 *
 * @param tensors by name, in the order of their bytes
 * @param metadata texts beside them
 */
record Header(Map<String, TensorInfo> tensors, Map<String, String> metadata) {
    static final String METADATA = "__metadata__";

    private static final int MOST_DEPTH = 8;
    private static final int LONGEST_NUMBER = 20;
    private static final int LONGEST_TEXT = 65_536;
    private static final int LONGEST_SHOWN = 200;

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MOST_DEPTH)
                    .maxNumberLength(LONGEST_NUMBER)
                    .maxStringLength(LONGEST_TEXT)
                    .maxNameLength(LONGEST_TEXT)
                    .build())
            .build();

    /**
     * Reads and checks a header.
     *
     * @param file name for messages
     * @param bytes the JSON, without the length before it
     * @param dataLength bytes of the file after the header
     */
    static Header parse(String file, ByteBuffer bytes, long dataLength) throws SafetensorsFormatException {
        if (!bytes.hasRemaining() || bytes.get(bytes.position()) != '{') {
            throw wrong(file, "header", "a JSON object that begins at once", "something else");
        }
        String text = decode(file, bytes);
        Map<String, TensorInfo> tensors = new LinkedHashMap<>();
        Map<String, String> metadata = new LinkedHashMap<>();
        try (JsonParser json = JSON.createParser(text)) {
            HeaderEntries entries = new HeaderEntries(file, json);
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                if (name.equals(METADATA)) {
                    metadata.putAll(entries.metadata());
                } else {
                    tensors.put(name, entries.tensor(name));
                }
            }
            int end = Math.toIntExact(json.currentLocation().getCharOffset());
            for (int i = end; i < text.length(); i++) {
                if (text.charAt(i) != ' ') {
                    throw wrong(file, "header", "only blanks after its last brace", "more at character " + i);
                }
            }
        } catch (JsonProcessingException e) {
            long at = e.getLocation() == null ? 0 : e.getLocation().getCharOffset();
            throw new SafetensorsFormatException(
                    file + ": header: expected JSON but was broken at character " + at + " (" + e.getOriginalMessage()
                            + ")",
                    e);
        } catch (SafetensorsFormatException e) {
            throw e;
        } catch (IOException e) {
            throw new SafetensorsFormatException(file + ": header: " + e.getMessage(), e);
        }
        return new Header(inOrder(file, tensors, dataLength), metadata);
    }

    private static String decode(String file, ByteBuffer bytes) throws SafetensorsFormatException {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(bytes)
                    .toString();
        } catch (CharacterCodingException e) {
            throw new SafetensorsFormatException(
                    file + ": header: expected UTF-8 but was malformed at byte " + (Long.BYTES + bytes.position()), e);
        }
    }

    /** The tensors as their bytes follow one another: no hole, no overlap, nothing left over. */
    private static Map<String, TensorInfo> inOrder(String file, Map<String, TensorInfo> tensors, long dataLength)
            throws SafetensorsFormatException {
        List<TensorInfo> sorted = new ArrayList<>(tensors.values());
        sorted.sort(Comparator.comparingLong(TensorInfo::begin)
                .thenComparingLong(TensorInfo::end)
                .thenComparing(TensorInfo::name));
        Map<String, TensorInfo> result = new LinkedHashMap<>();
        long at = 0;
        for (TensorInfo tensor : sorted) {
            if (tensor.begin() != at) {
                throw wrong(
                        file,
                        tensor.name(),
                        "data from offset " + at + " on, where the tensor before it ends",
                        tensor.begin());
            }
            at = tensor.end();
            if (at > dataLength) {
                throw wrong(file, tensor.name(), "data that ends within the file's " + dataLength + " bytes", at);
            }
            result.put(tensor.name(), tensor);
        }
        if (at != dataLength) {
            throw wrong(file, "data", at + " bytes as the header says", dataLength);
        }
        return result;
    }

    static SafetensorsFormatException wrong(String file, String part, String expected, Object was) {
        return new SafetensorsFormatException(
                file + ": " + shown(part) + ": expected " + expected + " but was " + shown(was.toString()));
    }

    /** Text of a file in a message, which is to be one line of bearable length. */
    static String shown(String text) {
        String line = text.codePoints()
                .limit(LONGEST_SHOWN)
                .map(c -> Character.isISOControl(c) ? '?' : c)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
        return text.length() > line.length() ? line + "…" : line;
    }
}
