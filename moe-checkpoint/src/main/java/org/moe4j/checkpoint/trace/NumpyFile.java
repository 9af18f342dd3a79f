package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorInfo;

/** Files of one array, as {@code numpy.save} writes them. */
final class NumpyFile {
    private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
    private static final byte[] ARCHIVE = {'P', 'K', 3, 4};
    private static final byte PICKLE = (byte) 0x80;
    private static final int BEFORE_LENGTH = 8; // magic and version
    private static final int LONGEST_HEADER = 1 << 16;

    private NumpyFile() {}

    /** Whether a file is one by its first bytes, or is named as one. */
    static boolean is(Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            return false; // whoever opens it says what it is
        }
        byte[] first = new byte[MAGIC.length];
        try (var in = Files.newInputStream(file)) {
            first = Arrays.copyOf(in.readNBytes(first.length), first.length);
        }
        if (Arrays.equals(first, MAGIC)) {
            return true;
        }
        if (Arrays.equals(first, 0, ARCHIVE.length, ARCHIVE, 0, ARCHIVE.length)) {
            throw TraceFormat.wrong(file, "file", "one array (numpy.save)", "a zip archive, as of numpy.savez");
        }
        if (file.toString().endsWith(".npy")) {
            throw TraceFormat.wrong(
                    file,
                    "file",
                    "an array as of numpy.save",
                    first[0] == PICKLE ? "a pickle" : "something else; it begins with other bytes");
        }
        return false;
    }

    /** The numbers of a file, all of which are there. */
    static StoredTensor open(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            ByteBuffer start = bytes(file, channel, 0, BEFORE_LENGTH);
            int version = start.get(MAGIC.length);
            if (version != 1 && version != 2) {
                throw TraceFormat.wrong(file, "header", "version 1 or 2", version);
            }
            int lengthBytes = version == 1 ? Short.BYTES : Integer.BYTES;
            ByteBuffer length = bytes(file, channel, BEFORE_LENGTH, lengthBytes);
            long headerLength =
                    version == 1 ? Short.toUnsignedInt(length.getShort()) : Integer.toUnsignedLong(length.getInt());
            if (headerLength > LONGEST_HEADER) {
                throw TraceFormat.wrong(file, "header", "at most " + LONGEST_HEADER + " bytes", headerLength);
            }
            long begin = (long) BEFORE_LENGTH + lengthBytes;
            ByteBuffer text = bytes(file, channel, begin, (int) headerLength);
            TensorInfo info = NumpyHeader.parse(
                    file, StandardCharsets.ISO_8859_1.decode(text).toString());
            long data = channel.size() - begin - headerLength;
            if (data != info.end()) {
                throw TraceFormat.wrong(file, NumpyHeader.PART, info.end() + " bytes for shape " + info.shape(), data);
            }
            return StoredTensor.map(file, channel, info, begin + headerLength);
        }
    }

    private static ByteBuffer bytes(Path file, FileChannel channel, long from, int count) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer, from + buffer.position()) < 0) {
                throw TraceFormat.wrong(
                        file, "header", "as many bytes as it says", "cut off at byte " + (from + buffer.position()));
            }
        }
        return buffer.flip();
    }
}
