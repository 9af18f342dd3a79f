package org.moe4j.checkpoint.safetensors;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;

/** What Jazzer calls with each input, which is an index. */
public final class ShardIndexFuzz {
    private static final Path FOLDER = Path.of("folder");

    private ShardIndexFuzz() {}

    /**
     * Reads an index, which has to be right or refused.
     *
     * @param input any bytes
     * @throws IOException other than for an index that is broken, which is a fault
     */
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
        try {
            for (String file :
                    ShardIndex.parse("fuzz", new ByteArrayInputStream(input)).values()) {
                if (!FOLDER.resolve(file).normalize().startsWith(FOLDER)) {
                    throw new AssertionError("expected a file in its folder but was " + file);
                }
            }
        } catch (SafetensorsFormatException e) {
            HeaderFuzz.checkMessage(e.getMessage());
        }
    }
}
