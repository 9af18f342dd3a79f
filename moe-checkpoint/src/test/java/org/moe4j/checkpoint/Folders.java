package org.moe4j.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorStore;

/** What stands in folders of checkpoints. */
final class Folders {
    private Folders() {}

    /** A tensor as it is stored. */
    record Bytes(ElementType type, List<Long> shape, List<Byte> bytes) {}

    static Map<String, Bytes> tensors(Path folder) throws IOException {
        Map<String, Bytes> all = new TreeMap<>();
        try (TensorStore store = TensorStore.open(folder)) {
            for (String name : store.names()) {
                StoredTensor tensor = store.tensor(name);
                int elements = (int) tensor.info().elements();
                byte[] bytes = new byte[elements * tensor.info().type().bytes()];
                tensor.readBytes(0, bytes, elements);
                List<Byte> boxed = new ArrayList<>();
                for (byte value : bytes) {
                    boxed.add(value);
                }
                all.put(name, new Bytes(tensor.info().type(), tensor.info().shape(), boxed));
            }
        }
        return all;
    }

    static double[] values(Path folder, String name) throws IOException {
        try (TensorStore store = TensorStore.open(folder)) {
            double[] values = new double[(int) store.info(name).elements()];
            store.tensor(name).read(0, values, 0, values.length);
            return values;
        }
    }

    static List<String> files(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }
}
