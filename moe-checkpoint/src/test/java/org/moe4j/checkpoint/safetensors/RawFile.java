package org.moe4j.checkpoint.safetensors;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files put together byte by byte, right and wrong ones. */
final class RawFile {
    private RawFile() {}

    /** A length, a header and as many data bytes, which count upwards from 0. */
    static byte[] bytes(String header, int dataLength) {
        byte[] json = header.getBytes(StandardCharsets.UTF_8);
        return bytes(json.length, json, dataLength);
    }

    /** With a length of its own. */
    static byte[] bytes(long claimed, byte[] header, int dataLength) {
        ByteBuffer buffer = ByteBuffer.allocate(8 + header.length + dataLength).order(ByteOrder.LITTLE_ENDIAN);
        buffer.putLong(claimed).put(header);
        for (int i = 0; i < dataLength; i++) {
            buffer.put((byte) i);
        }
        return buffer.array();
    }

    static Path write(Path folder, byte[] bytes) throws IOException {
        return Files.write(folder.resolve("model.safetensors"), bytes);
    }

    /** An entry of a header. */
    static String entry(String name, String type, String shape, long begin, long end) {
        return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + begin + ","
                + end + "]}";
    }
}
