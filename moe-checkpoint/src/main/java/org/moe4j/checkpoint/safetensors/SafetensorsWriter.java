package org.moe4j.checkpoint.safetensors;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.moe4j.core.internal.Leftover;
import org.moe4j.core.internal.Require;

/** Writes files in the safetensors format: the whole file, or nothing. */
public final class SafetensorsWriter {
    private static final int BUFFER = 1 << 16;
    private static final int ALIGNMENT = 8;

    private SafetensorsWriter() {}

    /**
     * Writes a file under another name in the same folder, forces it to the disk, and moves it to its place. Tensors of wide
     * numbers stand first, then in alphabetical order, and the header is padded, so that every number is aligned.
     *
     * @param file to be written; an old one is replaced
     * @param tensors of different names
     * @param metadata texts beside them
     * @throws IllegalArgumentException when two tensors have one name
     * @throws IOException when it cannot be written; the old file stays then
     */
    public static void write(Path file, List<TensorContent> tensors, Map<String, String> metadata) throws IOException {
        List<TensorContent> sorted = new ArrayList<>(tensors);
        sorted.sort(
                Comparator.comparingInt((TensorContent tensor) -> -tensor.type().bytes())
                        .thenComparing(TensorContent::name));
        byte[] header = header(sorted, metadata);
        Path other = file.resolveSibling("." + file.getFileName() + "." + UUID.randomUUID() + ".tmp");
        try (Leftover temporary = new Leftover(other)) {
            try (FileChannel channel =
                    FileChannel.open(temporary.path(), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                writeAll(channel, header, sorted);
                channel.force(true);
            }
            Files.move(temporary.path(), file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private static byte[] header(List<TensorContent> tensors, Map<String, String> metadata) throws IOException {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        if (!metadata.isEmpty()) {
            ObjectNode texts = root.putObject(Header.METADATA);
            metadata.forEach(texts::put);
        }
        long at = 0;
        for (TensorContent tensor : tensors) {
            if (root.has(tensor.name())) {
                throw Require.expected("tensors", "tensors of different names", tensor.name() + " twice");
            }
            ObjectNode entry = root.putObject(tensor.name());
            entry.put("dtype", tensor.type().name());
            tensor.shape().forEach(entry.putArray("shape")::add);
            if (at > Long.MAX_VALUE - tensor.bytes()) {
                throw Require.expected("tensors", "fewer than 2^63 bytes together", at + " and " + tensor.bytes());
            }
            long end = at + tensor.bytes();
            entry.putArray("data_offsets").add(at).add(end);
            at = end;
        }
        byte[] json = new ObjectMapper().writeValueAsString(root).getBytes(StandardCharsets.UTF_8);
        byte[] padded = Arrays.copyOf(json, (json.length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        Arrays.fill(padded, json.length, padded.length, (byte) ' ');
        return padded;
    }

    private static void writeAll(FileChannel channel, byte[] header, List<TensorContent> tensors) throws IOException {
        ByteBuffer length =
                ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(header.length);
        drain(channel, length.flip());
        drain(channel, ByteBuffer.wrap(header));
        ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER).order(ByteOrder.LITTLE_ENDIAN);
        for (TensorContent tensor : tensors) {
            int size = tensor.type().bytes();
            long elements = tensor.bytes() / size;
            for (long from = 0; from < elements; from += BUFFER / size) {
                int count = (int) Math.min(BUFFER / size, elements - from);
                tensor.source().write(from, count, buffer.clear().limit(count * size));
                drain(channel, buffer.flip());
            }
        }
    }

    private static void drain(FileChannel channel, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }
}
