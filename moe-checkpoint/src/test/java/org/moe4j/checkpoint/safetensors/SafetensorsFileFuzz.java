package org.moe4j.checkpoint.safetensors;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What Jazzer calls with each input, which is a whole file on the disk; all numbers of one that is opened are read. */
public final class SafetensorsFileFuzz {
    private static final Path FILE = temporary();

    private SafetensorsFileFuzz() {}

    private static Path temporary() {
        try {
            Path file = Files.createTempFile("fuzz", ".safetensors");
            file.toFile().deleteOnExit();
            return file;
        } catch (IOException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /**
     * Opens a file, which has to be right or refused.
     *
     * @param input any bytes
     * @throws IOException other than for a file that breaks the format, which is a fault
     */
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
        Files.write(FILE, input);
        try (SafetensorsFile file = SafetensorsFile.open(FILE)) {
            for (String name : file.tensors().keySet()) {
                StoredTensor tensor = file.tensor(name);
                int count = Math.toIntExact(tensor.info().elements());
                tensor.read(0, new float[count], 0, count);
                tensor.read(0, new double[count], 0, count);
            }
        } catch (SafetensorsFormatException e) {
            HeaderFuzz.checkMessage(e.getMessage().replace(FILE.toString(), "fuzz"));
        }
    }
}
