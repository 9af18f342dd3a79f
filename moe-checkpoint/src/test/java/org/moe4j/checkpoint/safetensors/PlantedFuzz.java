package org.moe4j.checkpoint.safetensors;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Arrays;

/** A target with an error that fuzzing has to find: a right header with a tensor of three sizes. */
public final class PlantedFuzz {
    private PlantedFuzz() {}

    /**
     * Fails for some of the right headers.
     *
     * @param input the header
     * @throws IOException never
     */
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
        if (input.length == 0) {
            return;
        }
        byte[] file = new byte[8 + input.length - 1 + 26];
        file[0] = (byte) (input.length - 1);
        file[1] = (byte) ((input.length - 1) >> 8);
        System.arraycopy(input, 1, file, 8, input.length - 1);
        try {
            Header header = Header.read("fuzz", new ByteArrayInputStream(file), file.length);
            if (header.tensors().values().stream()
                    .anyMatch(tensor -> tensor.shape().size() == 3)) {
                throw new IllegalStateException("planted: " + Arrays.toString(input));
            }
        } catch (SafetensorsFormatException e) {
            HeaderFuzz.checkMessage(e.getMessage());
        }
    }
}
