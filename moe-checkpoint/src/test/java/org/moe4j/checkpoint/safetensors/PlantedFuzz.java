package org.moe4j.checkpoint.safetensors;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A target with an error that fuzzing has to find: a right header that says {@value #WORD}. */
public final class PlantedFuzz {
    private static final String WORD = "tf";

    private PlantedFuzz() {}

    /**
     * Fails for some of the right headers.
     *
     * @param input the header, of a file without data
     * @throws IOException never
     */
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
        byte[] file = ByteBuffer.allocate(Long.BYTES + input.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(input.length)
                .put(input)
                .array();
        try {
            Header header = Header.read("fuzz", new ByteArrayInputStream(file), file.length);
            if (WORD.equals(header.metadata().get("format"))) {
                throw new IllegalStateException("planted: " + Arrays.toString(input));
            }
        } catch (SafetensorsFormatException e) {
            HeaderFuzz.checkMessage(e.getMessage());
        }
    }
}
