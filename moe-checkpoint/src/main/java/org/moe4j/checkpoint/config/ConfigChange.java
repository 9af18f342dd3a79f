package org.moe4j.checkpoint.config;

import java.io.IOException;
import org.moe4j.core.internal.Require;

/**
 * Another value of a key.
 *
 * @param key of a configuration
 * @param json the value, as JSON writes it
 */
public record ConfigChange(String key, String json) {
    /**
     * Reads {@code key: json}.
     *
     * @param text a key and a value
     * @return the change
     * @throws IllegalArgumentException when it is not in this notation
     */
    public static ConfigChange parse(String text) {
        String[] sides = text.split(":", -1);
        if (sides.length != 2 || sides[0].isBlank() || sides[1].isBlank()) {
            throw Require.expected("change", "key: value", text);
        }
        return new ConfigChange(sides[0].trim(), sides[1].trim());
    }

    /**
     * Makes the change.
     *
     * @param config stays as it is
     * @return the changed configuration
     * @throws IOException when the value is not JSON
     */
    public ModelConfig in(ModelConfig config) throws IOException {
        return config.with(key, json);
    }
}
