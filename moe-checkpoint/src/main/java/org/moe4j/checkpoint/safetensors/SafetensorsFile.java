package org.moe4j.checkpoint.safetensors;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
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
    /** The format's own limit, against headers that are made to exhaust memory. */
    static final long LONGEST_HEADER = 100_000_000;

    private final Path path;
    private final FileChannel channel;
    private final long length;
    private final long dataBegin;
    private final Header header;

    private SafetensorsFile(Path path, FileChannel channel, long length, long dataBegin, Header header) {
        this.path = path;
        this.channel = channel;
        this.length = length;
        this.dataBegin = dataBegin;
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
        FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
        try {
            long length = channel.size();
            int headerLength = headerLength(path, channel, length);
            ByteBuffer bytes = ByteBuffer.allocate(headerLength);
            fill(path, channel, bytes, Long.BYTES);
            long dataBegin = Long.BYTES + (long) headerLength;
            Header header = Header.parse(path.toString(), bytes, length - dataBegin);
            return new SafetensorsFile(path, channel, length, dataBegin, header);
        } catch (IOException | RuntimeException | Error failure) {
            channel.close();
            throw failure;
        }
    }

    private static int headerLength(Path path, FileChannel channel, long length) throws IOException {
        if (length < Long.BYTES) {
            throw Header.wrong(path.toString(), "file", "at least 8 bytes (length of the header)", length);
        }
        ByteBuffer first = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        fill(path, channel, first, 0);
        long headerLength = first.getLong();
        if (headerLength < 0 || headerLength > LONGEST_HEADER || headerLength > length - Long.BYTES) {
            throw Header.wrong(
                    path.toString(),
                    "header",
                    "a length from 0 to " + Math.min(LONGEST_HEADER, length - Long.BYTES) + " at byte 0",
                    Long.toUnsignedString(headerLength));
        }
        return (int) headerLength;
    }

    private static void fill(Path path, FileChannel channel, ByteBuffer buffer, long from) throws IOException {
        while (buffer.hasRemaining()) {
            if (channel.read(buffer, from + buffer.position()) < 0) {
                throw new EOFException(path + ": expected a file that stays as it is but was cut off at byte "
                        + (from + buffer.position()));
            }
        }
        buffer.flip();
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
     * @throws IOException when the file cannot be mapped or is no longer what it was
     */
    public StoredTensor tensor(String name) throws IOException {
        TensorInfo info = info(name);
        requireLength();
        StoredTensor tensor = StoredTensor.map(path, channel, info, dataBegin);
        requireLength();
        return tensor;
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
