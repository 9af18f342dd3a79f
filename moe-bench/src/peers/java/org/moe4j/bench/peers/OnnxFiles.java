package org.moe4j.bench.peers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.moe4j.bench.peers.SampleLayer.Part;

/** The model and its weights as files, which ONNX Runtime maps: for a layer of which a Java buffer does not hold all gate and up rows. */
final class OnnxFiles implements AutoCloseable {
    private static final String MODEL = "model.onnx";

    private final Path folder;

    private OnnxFiles(Path folder) {
        this.folder = folder;
    }

    static OnnxFiles write(SampleLayer layer, OnnxOrder order) throws IOException {
        OnnxFiles files = new OnnxFiles(Files.createTempDirectory("moe-peers"));
        try {
            files.fill(layer, order);
            return files;
        } catch (IOException | RuntimeException e) {
            files.close();
            throw e;
        }
    }

    private void fill(SampleLayer layer, OnnxOrder order) throws IOException {
        Files.write(folder.resolve(MODEL), OnnxModel.bytes(layer.size(), order));
        try (FileChannel inner = open(OnnxModel.INNER);
                FileChannel down = open(OnnxModel.DOWN);
                FileChannel router = open(OnnxModel.ROUTER)) {
            for (int e = 0; e < layer.size().experts(); e++) {
                append(inner, order.joined(layer, e));
                append(down, layer.weights(Part.DOWN, e));
            }
            append(router, OnnxOrder.turned(layer.router(), layer.size().hiddenSize()));
        }
    }

    private FileChannel open(String name) throws IOException {
        return FileChannel.open(folder.resolve(name), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    private static void append(FileChannel file, float[] values) throws IOException {
        ByteBuffer bytes =
                ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
    }

    String model() {
        return folder.resolve(MODEL).toString();
    }

    @Override
    public void close() {
        try {
            for (String name : new String[] {MODEL, OnnxModel.INNER, OnnxModel.DOWN, OnnxModel.ROUTER}) {
                Files.deleteIfExists(folder.resolve(name));
            }
            Files.deleteIfExists(folder);
        } catch (IOException e) {
            throw new IllegalStateException(folder + ": expected to be deleted but was not", e);
        }
    }
}
