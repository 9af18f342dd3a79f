package org.moe4j.core.internal;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file under another name, or a folder of files, that is moved to its place when it is complete. Otherwise it is deleted: when this is
 * closed, or when the JVM is told to end before.
 */
public final class Leftover implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Leftover.class);

    private final Path path;
    private final Thread atExit = new Thread(this::deleteAtExit, "moe-leftover");

    /**
     * Takes note of a path.
     *
     * @param path that is not there yet
     */
    public Leftover(Path path) {
        this.path = path;
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** Whoever writes goes on meanwhile: under another name of the folder, nothing is put into it any more. */
    private void deleteAtExit() {
        try {
            if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
                Path away = path.resolveSibling(path.getFileName() + ".x");
                Files.move(path, away);
                delete(away);
            } else {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            LOG.warn("{}: expected to be deleted but was not", path, e);
        }
    }

    private static void delete(Path path) throws IOException {
        if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
                for (Path file : files) {
                    Files.deleteIfExists(file);
                }
            }
        }
        Files.deleteIfExists(path);
    }

    /**
     * Where to write meanwhile.
     *
     * @return as given
     */
    public Path path() {
        return path;
    }

    /**
     * Forces the file, or all files of the folder, to the disk: a move may get there before what is moved, and a machine that stops in
     * between would leave an empty file in the place of the old one.
     *
     * @throws IOException when they cannot be written
     */
    public void force() throws IOException {
        if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            force(path);
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
            for (Path file : files) {
                force(file);
            }
        }
    }

    /** Open for reading, as a file may be read-only; that is enough. */
    private static void force(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    @Override
    public void close() throws IOException {
        delete(path);
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException ending) {
            // it runs already, and finds nothing
        }
    }
}
