package org.moe4j.checkpoint.safetensors;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** Reads a tensor whose file is cut off, and prints what came of it. */
final class CutOffProbe {
    private CutOffProbe() {}

    /**
     * Reads before and afterwards; the file has its length again in the end.
     *
     * @param arguments the file
     * @throws IOException never: it is printed
     */
    public static void main(String[] arguments) throws IOException {
        try (SafetensorsFile file = SafetensorsFile.open(Path.of(arguments[0]));
                RandomAccessFile other = new RandomAccessFile(arguments[0], "rw")) {
            StoredTensor tensor = file.tensor("a");
            float[] values = new float[1000];
            tensor.read(0, values, 0, values.length);
            long length = other.length();
            other.setLength(4096);
            try {
                tensor.read(3_000_000, values, 0, values.length);
                System.out.println("read");
            } catch (UncheckedIOException e) {
                System.out.println("UncheckedIOException " + e.getMessage());
            }
            try {
                file.tensor("a");
                System.out.println("mapped");
            } catch (IOException e) {
                System.out.println("IOException " + e.getMessage());
            }
            other.setLength(length);
        }
    }
}
