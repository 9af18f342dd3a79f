package org.moe4j.checkpoint;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.EightBits;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.internal.Leftover;

/**
 * Writes a checkpoint that is another one with some tensors and settings changed: the same files, every other tensor bit for bit, and the
 * small files beside them. It is written under another name, and moved when it is complete.
 */
public final class CheckpointWriter {
    private static final Set<String> WEIGHTS =
            Set.of("safetensors", "bin", "pt", "pth", "gguf", "h5", "msgpack", "onnx");
    private static final String INDEX = "model.safetensors.index.json";

    private final MoeCheckpoint original;
    private final Path out;

    private CheckpointWriter(MoeCheckpoint original, Path out) {
        this.original = original;
        this.out = out;
    }

    /** What takes the place of a stored tensor. */
    interface Changes {
        /** Tensors by other names or of other numbers; empty for one that is left out. */
        List<TensorContent> of(String name) throws IOException;
    }

    /** Looks at the folder before it gets its name. */
    interface Check {
        void of(Path folder) throws IOException;
    }

    /**
     * Saves changed layers as a checkpoint of their own.
     *
     * @param original gives all that has not changed
     * @param config its configuration, or one with other values
     * @param changed of {@link MoeCheckpoint#contents(int, org.moe4j.checkpoint.safetensors.ElementType,
     *     org.moe4j.core.layer.MoeLayer)}, of one layer or several
     * @param out a folder that is not there yet, or is empty
     * @throws IllegalArgumentException when a changed tensor is none of the original's, or is stored in 8 or 4 bits there
     * @throws IOException when it cannot be written; nothing stays behind then
     */
    public static void save(MoeCheckpoint original, ModelConfig config, List<TensorContent> changed, Path out)
            throws IOException {
        TensorStore store = original.store();
        Map<String, TensorContent> byName = new LinkedHashMap<>();
        for (TensorContent tensor : changed) {
            String name = tensor.name();
            if (!store.names().contains(name) || EightBits.isOne(store.info(name))) {
                throw new IllegalArgumentException("changed: expected tensors that " + original.folder()
                        + " has in at least 16 bits but was " + name + "; rewrite it with dtype first");
            }
            byName.put(name, tensor);
        }
        write(
                original,
                config,
                name -> byName.containsKey(name)
                        ? List.of(byName.get(name))
                        : List.of(TensorContent.of(store.tensor(name))),
                out,
                () -> {},
                folder -> {});
    }

    /** The same with any changes, told of each file of tensors, and with a look at the result. */
    static void write(
            MoeCheckpoint original, ModelConfig config, Changes changes, Path out, Runnable fileWritten, Check check)
            throws IOException {
        requireFree(out);
        new CheckpointWriter(original, out).write(config, changes, fileWritten, check);
    }

    /** Refuses what would be written over. */
    static void requireFree(Path out) throws IOException {
        if (!Files.exists(out)) {
            return;
        }
        if (!Files.isDirectory(out)) {
            throw new IOException(out + ": expected a folder that is not there yet but was a file");
        }
        try (Stream<Path> inside = Files.list(out)) {
            if (inside.findAny().isPresent()) {
                throw new IOException(
                        out + ": expected an empty folder, or one that is not there yet, but was one with" + " files");
            }
        }
    }

    private void write(ModelConfig config, Changes changes, Runnable fileWritten, Check check) throws IOException {
        Path target = out.toAbsolutePath().normalize();
        Path parent = target.getParent();
        if (parent == null) {
            throw new IOException(out + ": expected a folder in another one but was a root");
        }
        Path other = parent.resolve("." + target.getFileName() + "." + UUID.randomUUID() + ".tmp");
        try (Leftover unfinished = new Leftover(other)) {
            Path temporary = unfinished.path();
            create(temporary);
            writeTensors(temporary, changes, fileWritten);
            written(() -> Files.writeString(
                    temporary.resolve(ModelConfig.FILE), config.json(), StandardOpenOption.CREATE_NEW));
            copyOthers(temporary);
            check.of(temporary);
            written(unfinished::force);
            Files.deleteIfExists(target); // refused if somebody has put a file into it
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
        } catch (UncheckedIOException e) {
            throw e.getCause();
        } catch (DirectoryNotEmptyException e) {
            throw new IOException(
                    out
                            + ": expected an empty folder, or one that is not there yet, but files were put into it meanwhile",
                    e);
        }
    }

    private void create(Path temporary) throws IOException {
        try {
            Files.createDirectories(Objects.requireNonNull(temporary.getParent()));
            Files.createDirectory(temporary);
        } catch (FileSystemException e) {
            throw new IOException(
                    out + ": expected a folder that can be written but was none ("
                            + e.getClass().getSimpleName() + ": " + e.getMessage() + ")",
                    e);
        }
    }

    private interface Writing {
        void run() throws IOException;
    }

    /** A full disk does not say where it is. */
    private void written(Writing writing) throws IOException {
        try {
            writing.run();
        } catch (IOException e) {
            throw new IOException(
                    out + ": expected a folder that takes all files but was another (" + e.getMessage() + ")", e);
        }
    }

    private void writeTensors(Path folder, Changes changes, Runnable fileWritten) throws IOException {
        TensorStore store = original.store();
        Map<String, String> fileOf = new TreeMap<>();
        long bytes = 0;
        for (String file : new TreeSet<>(store.files().values())) {
            List<TensorContent> contents = new ArrayList<>();
            for (String name : namesIn(file)) {
                contents.addAll(changes.of(name));
            }
            for (TensorContent tensor : contents) {
                fileOf.put(tensor.name(), file);
                bytes += tensor.bytes();
            }
            Map<String, String> metadata = store.metadata(file);
            written(() -> SafetensorsWriter.write(folder.resolve(file), contents, metadata));
            fileWritten.run();
        }
        if (Files.exists(store.folder().resolve(INDEX))) {
            ObjectMapper json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            ObjectNode root = json.createObjectNode();
            root.putObject("metadata").put("total_size", bytes);
            ObjectNode map = root.putObject("weight_map");
            fileOf.forEach(map::put);
            String index = json.writeValueAsString(root);
            written(() -> Files.writeString(folder.resolve(INDEX), index, StandardOpenOption.CREATE_NEW));
        }
    }

    private List<String> namesIn(String file) {
        return original.store().files().entrySet().stream()
                .filter(entry -> entry.getValue().equals(file))
                .map(Map.Entry::getKey)
                .collect(Collectors.toList());
    }

    /** The small files beside the tensors; weights in other files would be the old ones. */
    private void copyOthers(Path folder) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(original.folder(), Files::isRegularFile)) {
            for (Path file : files) {
                Path copy = folder.resolve(file.getFileName().toString());
                if (!isWeights(file) && !Files.exists(copy)) {
                    written(() -> Files.copy(file, copy));
                }
            }
        }
    }

    private static boolean isWeights(Path file) {
        String name = file.getFileName().toString();
        return WEIGHTS.contains(name.substring(name.lastIndexOf('.') + 1)) || name.endsWith(".index.json");
    }
}
