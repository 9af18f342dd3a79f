package org.moe4j.bench.support;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/** A file for results that will be written under another name in the same folder and then moved. */
public final class OutputFile {
    private OutputFile() {}

    /**
     * Tries whether a file can be written, so that long work does not end in vain. Nothing is left behind, and an old file stays.
     *
     * @param argument what messages call it
     * @param file to be written later
     * @throws IOException when it cannot be, naming the file
     */
    public static void requireWritable(String argument, Path file) throws IOException {
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw new IOException(argument + ": expected a file but was " + file + " (a folder, or no regular file)");
        }
        Path folder = file.toAbsolutePath().getParent();
        if (folder == null || !Files.isDirectory(folder)) {
            throw new IOException(argument + ": expected a file in a folder that is there but was " + file);
        }
        try {
            Path trial = folder.resolve(".trial." + UUID.randomUUID() + ".tmp");
            Files.createFile(trial);
            Files.delete(trial);
        } catch (FileSystemException e) {
            throw new IOException(
                    argument + ": expected a file in a folder that can be written but was " + file + " ("
                            + OutputFolder.reason(e) + ")",
                    e);
        }
    }
}
