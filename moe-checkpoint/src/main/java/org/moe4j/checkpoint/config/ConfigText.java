package org.moe4j.checkpoint.config;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The text of a configuration: values in it change, and every other character stays. */
final class ConfigText {
    private static final JsonFactory JSON = new JsonFactory();

    private ConfigText() {}

    /** Where a member of an object stands: its name, and its value. */
    private record Place(int name, int value, int end) {}

    /** The text with another value; a key that is not there becomes the first of its object. */
    static String with(String text, List<String> path, String json) throws IOException {
        Optional<Place> place = find(text, path);
        if (place.isPresent()) {
            return text.substring(0, place.get().value())
                    + json
                    + text.substring(place.get().end());
        }
        int brace = text.indexOf(
                '{',
                path.size() == 1
                        ? 0
                        : find(text, path.subList(0, path.size() - 1))
                                .orElseThrow(() -> new IOException(
                                        String.join(".", path) + ": expected an object to put it into but was none"))
                                .value());
        int next = afterBlanks(text, brace + 1);
        String member = "\"" + path.get(path.size() - 1) + "\": " + json;
        String separator = text.charAt(next) == '}' ? "" : "," + text.substring(brace + 1, next);
        return text.substring(0, next) + member + separator + text.substring(next);
    }

    /** The text without a key, which has to be there. */
    static String without(String text, List<String> path) throws IOException {
        Place place = find(text, path).orElseThrow();
        int next = afterBlanks(text, place.end());
        if (text.charAt(next) == ',') {
            return text.substring(0, place.name()) + text.substring(afterBlanks(text, next + 1));
        }
        int before = place.name() - 1;
        while (Character.isWhitespace(text.charAt(before))) {
            before--;
        }
        int from = text.charAt(before) == ',' ? before : place.name();
        return text.substring(0, from) + text.substring(place.end());
    }

    private static int afterBlanks(String text, int from) {
        int at = from;
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at;
    }

    private static Optional<Place> find(String text, List<String> path) throws IOException {
        try (JsonParser json = JSON.createParser(text.toCharArray())) {
            int found = 0;
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                int name = (int) json.currentTokenLocation().getCharOffset();
                boolean wanted = json.currentName().equals(path.get(found));
                JsonToken token = json.nextToken();
                int value = (int) json.currentTokenLocation().getCharOffset();
                if (wanted && found < path.size() - 1 && token == JsonToken.START_OBJECT) {
                    found++;
                    continue;
                }
                json.skipChildren();
                if (wanted) {
                    json.getText(); // reads a text to its end
                    return found == path.size() - 1
                            ? Optional.of(new Place(
                                    name, value, (int) json.currentLocation().getCharOffset()))
                            : Optional.empty();
                }
            }
            return Optional.empty();
        }
    }
}
