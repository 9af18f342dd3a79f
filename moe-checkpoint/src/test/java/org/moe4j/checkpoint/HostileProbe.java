package org.moe4j.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.safetensors.TensorStore;

/** Opens folders in a small JVM and prints, for each, what came of it. */
final class HostileProbe {
    private HostileProbe() {}

    /**
     * Opens the tensors of each folder, or its configuration where it has one.
     *
     * @param folders in this order
     * @throws IOException never: it is printed
     */
    public static void main(String[] folders) throws IOException {
        for (String name : folders) {
            Path folder = Path.of(name);
            long start = System.nanoTime();
            String outcome;
            try {
                if (Files.exists(folder.resolve(ModelConfig.FILE))) {
                    outcome = ModelConfig.read(folder).text("model_type").orElse("none");
                } else {
                    try (TensorStore store = TensorStore.open(folder)) {
                        outcome = store.names().size() + " tensors";
                    }
                }
            } catch (IOException e) {
                outcome = e.getClass().getSimpleName() + " " + e.getMessage();
            }
            System.out.println(folder.getFileName() + " | " + (System.nanoTime() - start) / 1_000_000 + " ms | "
                    + outcome.replace(folder.toString() + "/", ""));
        }
    }
}
