package org.moe4j.checkpoint.safetensors;

import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.Map;
import java.util.NoSuchElementException;
import org.moe4j.core.internal.Spelling;

/**
 * One file whose header was found to be in order. Its tensors are mapped when they are asked for, so that any of them can be read
 * from a file that is larger than memory. Several threads may use it at once.
 */
public final class SafetensorsFile implements AutoCloseable {
    private final Path path;
    private final FileChannel channel;
    private final long length;
    private final Header header;

    private SafetensorsFile(Path path, FileChannel channel, long length, Header header) {
        this.path = path;
        this.channel = channel;
        this.length = length;
        this.header = header;
    }

    /**
     * Opens a file and checks its header.
     *
     * @param path of the file
     * @return to be closed
     * @throws SafetensorsFormatException when the file breaks a rule of the format
     * @throws IOException when it cannot be read
     */
    public static SafetensorsFile open(Path path) throws IOException {
        requireFile(path);
        FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
        try {
            long length = channel.size();
            Header header = Header.read(path.toString(), Channels.newInputStream(channel), length);
            return new SafetensorsFile(path, channel, length, header);
        } catch (IOException | RuntimeException | Error failure) {
            channel.close();
            throw failure;
        }
    }

    /** Opening a pipe would wait for somebody who writes to it. */
    static void requireFile(Path path) throws IOException {
        if (Files.isSymbolicLink(path) && !Files.exists(path)) {
            throw new NoSuchFileException(path + ": expected a file but was a link that leads to none");
        }
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            throw new IOException(
                    path + ": expected a file but was a " + (Files.isDirectory(path) ? "folder" : "pipe or device"));
        }
    }

    /**
     * The file's path.
     *
     * @return as given
     */
    public Path path() {
        return path;
    }

    /**
     * All tensors.
     *
     * @return by name, in the order of their bytes; unmodifiable
     */
    public Map<String, TensorInfo> tensors() {
        return Collections.unmodifiableMap(header.tensors());
    }

    /**
     * Texts beside the tensors.
     *
     * @return unmodifiable, often empty
     */
    public Map<String, String> metadata() {
        return Collections.unmodifiableMap(header.metadata());
    }

    /**
     * A tensor's numbers, which are mapped now and read from the disk when they are asked for.
     *
     * @param name of the tensor
     * @return valid as long as the file is not changed, even after it was closed here
     * @throws NoSuchElementException for an unknown name
     * @throws IllegalStateException when the file was closed
     * @throws IOException when the file cannot be mapped or is no longer what it was
     */
    public StoredTensor tensor(String name) throws IOException {
        TensorInfo info = info(name);
        try {
            requireLength();
            StoredTensor tensor = StoredTensor.map(path, channel, info, header.dataBegin());
            requireLength();
            return tensor;
        } catch (ClosedChannelException e) { // by another thread too, in the middle of it
            throw new IllegalStateException(path + ": expected an open file but it is closed", e);
        }
    }

    /** Reading a mapped page that is no longer in the file would end the whole process. */
    private void requireLength() throws IOException {
        if (channel.size() != length) {
            throw new IOException(path + ": expected a file that stays " + length + " bytes long but was "
                    + channel.size() + "; do not write to a file while it is read");
        }
    }

    /**
     * What the header says of a tensor.
     *
     * @param name of the tensor
     * @return type and shape
     * @throws NoSuchElementException for an unknown name
     */
    public TensorInfo info(String name) {
        TensorInfo info = header.tensors().get(name);
        if (info == null) {
            throw new NoSuchElementException(path + ": expected a tensor of this file but was " + name
                    + Spelling.closest(name, header.tensors().keySet())
                            .map(right -> "; did you mean " + right + "?")
                            .orElse(""));
        }
        return info;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
