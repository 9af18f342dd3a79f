package org.moe4j.checkpoint.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackReader;
import java.io.Reader;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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
 * @param dataBegin byte of the file behind the header
 */
record Header(Map<String, TensorInfo> tensors, Map<String, String> metadata, long dataBegin) {
    static final String METADATA = "__metadata__";

    /** The format's own limit, against headers that are made to exhaust memory. */
    static final long LONGEST = 100_000_000;

    private static final int MOST_DEPTH = 8;
    private static final int LONGEST_NUMBER = 20;
    private static final int LONGEST_TEXT = 65_536;
    private static final int LONGEST_SHOWN = 200;
    private static final int PIECE = 4096;

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            // Names of a file would stay in a table of the whole process, and could be made to collide in it.
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MOST_DEPTH)
                    .maxNumberLength(LONGEST_NUMBER)
                    .maxStringLength(LONGEST_TEXT)
                    .maxNameLength(LONGEST_TEXT)
                    .build())
            .build();

    /**
     * Reads and checks what stands before the data.
     *
     * @param file name for messages
     * @param in stands on the first byte of the file
     * @param length bytes of the file
     */
    static Header read(String file, InputStream in, long length) throws IOException {
        if (length < Long.BYTES) {
            throw wrong(file, "file", "at least 8 bytes (length of the header)", length);
        }
        byte[] first = in.readNBytes(Long.BYTES);
        if (first.length < Long.BYTES) {
            throw new EOFException(
                    file + ": expected a file that stays as it is but was cut off at byte " + first.length);
        }
        long headerLength =
                ByteBuffer.wrap(first).order(ByteOrder.LITTLE_ENDIAN).getLong();
        long most = Math.min(LONGEST, length - Long.BYTES);
        if (headerLength < 0 || headerLength > most) {
            throw wrong(
                    file, "header", "a length from 0 to " + most + " at byte 0", Long.toUnsignedString(headerLength));
        }
        return parse(file, new HeaderText(file, in, headerLength), Long.BYTES + headerLength, length);
    }

    private static Header parse(String file, HeaderText text, long dataBegin, long length) throws IOException {
        char[] first = new char[2]; // room for any character
        int read = text.read(first, 0, first.length);
        if (read < 1 || first[0] != '{') {
            throw wrong(file, "header", "a JSON object that begins at once", "something else");
        }
        PushbackReader whole = new PushbackReader(text, first.length);
        whole.unread(first, 0, read);
        try (JsonParser json = JSON.createParser(whole)) {
            HeaderEntries entries = new HeaderEntries(file, json);
            try {
                entries.readAll();
            } catch (JsonProcessingException e) {
                // limits of the parser come without a place
                JsonLocation place = e.getLocation() == null ? json.currentLocation() : e.getLocation();
                throw new SafetensorsFormatException(
                        file + ": header: expected JSON but was broken at character " + place.getCharOffset() + " ("
                                + shown(e.getOriginalMessage()) + ")",
                        e);
            }
            requireBlanks(file, json, whole);
            return new Header(inOrder(file, entries.tensors(), length - dataBegin), entries.metadata(), dataBegin);
        }
    }

    private static void requireBlanks(String file, JsonParser json, Reader rest) throws IOException {
        long at = json.currentLocation().getCharOffset();
        StringWriter buffered = new StringWriter();
        json.releaseBuffered(buffered);
        char[] piece = buffered.toString().toCharArray();
        int count = piece.length;
        while (count >= 0) {
            for (int i = 0; i < count; i++) {
                if (piece[i] != ' ') {
                    throw wrong(file, "header", "only blanks after its last brace", "more at character " + (at + i));
                }
            }
            at += count;
            piece = piece.length < PIECE ? new char[PIECE] : piece;
            count = rest.read(piece, 0, piece.length);
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
                .map(c -> isShown(c) ? c : '?')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
        return text.length() > line.length() ? line + "…" : line;
    }

    private static boolean isShown(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.LINE_SEPARATOR -> false;
            default -> true;
        };
    }
}
