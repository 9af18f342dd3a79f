package org.moe4j.checkpoint.census;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.TensorContent;

/** A checkpoint of zeros with given tensors: one in a line, as {@code model.norm.weight 4}. */
final class Manifest {
    private Manifest() {}

    static Path write(Path folder, String config, String tensors) throws IOException {
        List<TensorContent> contents = new ArrayList<>();
        for (String line : tensors.lines().toList()) {
            String[] words = line.strip().split(" ");
            List<Long> shape = Arrays.stream(words).skip(1).map(Long::parseLong).toList();
            contents.add(zeros(words[0], shape));
        }
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("config.json"), config);
        SafetensorsWriter.write(folder.resolve("model.safetensors"), contents, Map.of());
        return folder;
    }

    private static TensorContent zeros(String name, List<Long> shape) {
        return new TensorContent(name, ElementType.BF16, shape, (from, count, into) -> into.put(new byte[2 * count]));
    }
}
