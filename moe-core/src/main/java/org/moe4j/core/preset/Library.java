package org.moe4j.core.preset;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The files that come with the library. */
final class Library {
    private static final String FOLDER = "/moe/preset/";

    private Library() {}

    static SortedMapOfText read(String name) {
        String file = FOLDER + name + ".properties";
        try (InputStream stream = Preset.class.getResourceAsStream(file)) {
            if (stream == null) {
                throw new IOException("resource: expected " + file + " on the class path but was absent");
            }
            Reader reader = new InputStreamReader(stream, StandardCharsets.UTF_8);
            return SortedMapOfText.read(name, reader);
        } catch (IOException e) {
            throw new UncheckedIOException("preset " + name + ": expected a readable resource", e);
        }
    }
}
