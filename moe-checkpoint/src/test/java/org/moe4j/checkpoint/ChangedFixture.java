package org.moe4j.checkpoint;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorStore;

/** A checkpoint like a fixture's but for some changes, to be written into a folder of its own. */
final class ChangedFixture {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final ObjectNode config;
    private final Map<String, TensorContent> tensors = new TreeMap<>();

    private ChangedFixture(ObjectNode config) {
        this.config = config;
    }

    static ChangedFixture of(String name) throws IOException {
        Path folder = Fixture.root().resolve(name);
        JsonNode config = JSON.readTree(folder.resolve("config.json").toFile());
        ChangedFixture changed = new ChangedFixture((ObjectNode) config);
        try (TensorStore store = TensorStore.open(folder)) {
            for (String tensor : store.names()) {
                StoredTensor stored = store.tensor(tensor);
                byte[] bytes = new byte
                        [(int) (stored.info().elements() * stored.info().type().bytes())];
                stored.readBytes(0, bytes, (int) stored.info().elements());
                changed.with(tensor, stored.info().type(), stored.info().shape(), bytes);
            }
        }
        return changed;
    }

    ChangedFixture with(String name, ElementType type, List<Long> shape, byte[] bytes) {
        tensors.put(
                name,
                new TensorContent(
                        name,
                        type,
                        shape,
                        (from, count, into) ->
                                into.put(bytes, Math.toIntExact(from * type.bytes()), count * type.bytes())));
        return this;
    }

    /** A tensor of ones, or what else has these bytes in 32 bits. */
    ChangedFixture with(String name, float value, long... shape) {
        int elements = (int) Arrays.stream(shape).reduce(1, (a, b) -> a * b);
        ByteBuffer bytes = ByteBuffer.allocate(4 * elements).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining()) {
            bytes.putFloat(value);
        }
        return with(name, ElementType.F32, Arrays.stream(shape).boxed().toList(), bytes.array());
    }

    /** The matrices of a square tensor of 32 bits, each transposed. */
    ChangedFixture transposed(String name) {
        TensorContent tensor = tensors.get(name);
        int size = Math.toIntExact(tensor.shape().get(tensor.shape().size() - 1));
        int count = (int) tensor.shape().stream().mapToLong(length -> length).reduce(1, (a, b) -> a * b);
        ByteBuffer from = ByteBuffer.allocate(4 * count);
        tensor.source().write(0, count, from);
        byte[] bytes = new byte[4 * count];
        for (int i = 0; i < count; i++) {
            int row = i / size % size;
            int turned = i - row * size - i % size + i % size * size + row;
            System.arraycopy(from.array(), 4 * i, bytes, 4 * turned, 4);
        }
        return with(name, tensor.type(), tensor.shape(), bytes);
    }

    ChangedFixture without(String... names) {
        for (String name : names) {
            if (tensors.remove(name) == null) {
                throw new IllegalArgumentException(name);
            }
        }
        return this;
    }

    ObjectNode config() {
        return config;
    }

    ChangedFixture config(Consumer<ObjectNode> change) {
        change.accept(config);
        return this;
    }

    Path write(Path folder) throws IOException {
        Files.createDirectories(folder);
        JSON.writeValue(folder.resolve("config.json").toFile(), config);
        SafetensorsWriter.write(folder.resolve("model.safetensors"), List.copyOf(tensors.values()), Map.of());
        return folder;
    }
}
