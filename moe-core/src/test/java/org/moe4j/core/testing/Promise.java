package org.moe4j.core.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * What a test of a promise measured: one line of {@code target/promises}, from which the figures of docs/promises.md are taken.
 * The test itself asserts the limit; this only keeps the figure.
 */
public final class Promise {
    private static final Path FOLDER = Path.of("target", "promises");

    private Promise() {}

    /**
     * Keeps a figure, in place of the one of an earlier run.
     *
     * @param number of the promise, as on the page
     * @param what was measured, in a few words; the name of the line
     * @param figure the value with its unit and the number of cases, such as {@code 0 of 20,000 cases; worst 0.62 of the bound}
     */
    public static void measured(int number, String what, String figure) {
        String name = what.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
        try {
            Files.createDirectories(FOLDER);
            Files.writeString(
                    FOLDER.resolve(String.format(Locale.ROOT, "%02d-%s.txt", number, name)),
                    String.format(Locale.ROOT, "%d\t%s\t%s%n", number, what, figure));
        } catch (IOException unwritable) {
            throw new UncheckedIOException(unwritable);
        }
    }
}
