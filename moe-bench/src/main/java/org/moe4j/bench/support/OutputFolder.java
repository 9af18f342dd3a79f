package org.moe4j.bench.support;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import org.moe4j.core.internal.Leftover;

/**
 * A folder for results. A file in it is either the old one or the complete new one, never half of it: it is written
 * under another name in the same folder and then moved.
 */
public final class OutputFolder {
    private final Path path;

    private OutputFolder(Path path) {
        this.path = path;
    }

    /**
     * Makes the folder when it is not there, and tries to write to it, so that long work does not end in vain.
     *
     * @param path of the folder
     * @return the folder
     * @throws IOException when nothing can be written there, naming the folder
     */
    public static OutputFolder open(Path path) throws IOException {
        OutputFolder folder = new OutputFolder(path);
        try {
            Files.createDirectories(path);
            Path trial = folder.temporary("trial");
            Files.createFile(trial);
            Files.delete(trial);
        } catch (FileSystemException e) {
            throw new IOException(
                    "--out: expected a folder that can be written but was " + path + " (" + reason(e) + ")", e);
        }
        return folder;
    }

    static String reason(FileSystemException e) {
        boolean own = e.getFile() == null || e.getFile().endsWith(".tmp"); // a name that means nothing to a user
        String file = own ? "" : e.getFile() + ": ";
        if (e instanceof FileAlreadyExistsException) {
            return file + "not a folder";
        }
        if (e instanceof AccessDeniedException) {
            return file + "access denied";
        }
        return file + (e.getReason() == null ? e.getClass().getSimpleName() : e.getReason());
    }

    /**
     * Writes a file.
     *
     * @param name of the file in this folder
     * @param content all of it
     * @return path of the file
     * @throws IOException when it cannot be written; the old file stays then
     */
    public Path write(String name, byte[] content) throws IOException {
        Path file = path.resolve(name);
        try (Leftover unfinished = new Leftover(temporary(name))) {
            Path temporary = unfinished.path();
            Files.write(temporary, content, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            unfinished.force();
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (FileSystemException e) {
            throw new IOException(file + ": expected a file that can be written but was not (" + reason(e) + ")", e);
        }
        return file;
    }

    /**
     * Writes text in UTF-8.
     *
     * @param name of the file in this folder
     * @param content all of it
     * @return path of the file
     * @throws IOException when it cannot be written; the old file stays then
     */
    public Path write(String name, String content) throws IOException {
        return write(name, content.getBytes(StandardCharsets.UTF_8));
    }

    private Path temporary(String name) {
        return path.resolve("." + name + "." + UUID.randomUUID() + ".tmp");
    }
}
