package org.moe4j.checkpoint.safetensors;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.moe4j.core.internal.Spelling;

/**
 * The tensors of a folder: those of {@code model.safetensors}, or those that {@code model.safetensors.index.json} finds in several
 * files. A file is opened when one of its tensors is asked for first. Several threads may use a store at once.
 */
public final class TensorStore implements AutoCloseable {
    static final String SINGLE = "model.safetensors";
    static final String INDEX = "model.safetensors.index.json";

    private final Path folder;
    private final Map<String, String> fileOf;
    private final Map<String, SafetensorsFile> open = new HashMap<>();
    private boolean closed;

    private TensorStore(Path folder, Map<String, String> fileOf) {
        this.folder = folder;
        this.fileOf = fileOf;
    }

    /**
     * Opens a folder.
     *
     * @param folder with an index, or with a single file
     * @return to be closed
     * @throws NoSuchFileException when it has neither, or lacks a file that the index names
     * @throws SafetensorsFormatException when index or file are broken
     * @throws IOException when one of them cannot be read
     */
    public static TensorStore open(Path folder) throws IOException {
        Path index = folder.resolve(INDEX);
        Path single = folder.resolve(SINGLE);
        if (isThere(index)) {
            Map<String, String> fileOf = ShardIndex.read(index);
            for (String file : Set.copyOf(fileOf.values())) {
                if (!Files.isRegularFile(folder.resolve(file))) {
                    throw new NoSuchFileException(folder + ": expected " + Header.shown(file) + ", as " + INDEX
                            + " says, but there is no such file");
                }
            }
            return new TensorStore(folder, fileOf);
        }
        if (!isThere(single)) {
            throw new NoSuchFileException(folder + ": expected " + SINGLE + " or " + INDEX + " but found neither");
        }
        SafetensorsFile file = SafetensorsFile.open(single);
        Map<String, String> fileOf = new TreeMap<>();
        file.tensors().keySet().forEach(name -> fileOf.put(name, SINGLE));
        TensorStore store = new TensorStore(folder, fileOf);
        store.open.put(SINGLE, file);
        return store;
    }

    /**
     * Whether a folder has tensors.
     *
     * @param folder may be anything
     * @return whether there is an index or a single file, or a link of that name
     */
    public static boolean isIn(Path folder) {
        return isThere(folder.resolve(INDEX)) || isThere(folder.resolve(SINGLE));
    }

    /** A link that leads nowhere counts: what it stands for is missing, and nothing else may take its place. */
    private static boolean isThere(Path file) {
        return Files.exists(file, LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * The folder.
     *
     * @return as given
     */
    public Path folder() {
        return folder;
    }

    /**
     * Names of all tensors.
     *
     * @return in alphabetical order, unmodifiable
     */
    public Set<String> names() {
        return Collections.unmodifiableSet(fileOf.keySet());
    }

    /**
     * Which file each tensor is in.
     *
     * @return names of files in the folder by names of tensors, unmodifiable
     */
    public Map<String, String> files() {
        return Collections.unmodifiableMap(fileOf);
    }

    /**
     * Texts beside the tensors of a file.
     *
     * @param file one of {@link #files}
     * @return unmodifiable, often empty
     * @throws NoSuchElementException for an unknown file
     * @throws IOException when the file cannot be read
     */
    public Map<String, String> metadata(String file) throws IOException {
        if (!fileOf.containsValue(file)) {
            throw new NoSuchElementException(
                    folder + ": expected one of " + new TreeSet<>(fileOf.values()) + " but was " + file);
        }
        return opened(file).metadata();
    }

    /**
     * What the header of its file says of a tensor.
     *
     * @param name of the tensor
     * @return type and shape
     * @throws NoSuchElementException for an unknown name
     * @throws IOException when its file cannot be read or lacks it
     */
    public TensorInfo info(String name) throws IOException {
        return file(name).info(name);
    }

    /**
     * A tensor.
     *
     * @param name of the tensor
     * @return its numbers
     * @throws NoSuchElementException for an unknown name
     * @throws IOException when its file cannot be read or lacks it
     */
    public StoredTensor tensor(String name) throws IOException {
        return file(name).tensor(name);
    }

    private SafetensorsFile file(String name) throws IOException {
        String file = fileOf.get(name);
        if (file == null) {
            throw new NoSuchElementException(folder + ": expected a tensor of this checkpoint but was " + name
                    + Spelling.closest(name, fileOf.keySet())
                            .map(right -> "; did you mean " + right + "?")
                            .orElse(""));
        }
        return opened(file);
    }

    private synchronized SafetensorsFile opened(String file) throws IOException {
        if (closed) {
            throw new IllegalStateException(folder + ": expected an open store but it is closed");
        }
        SafetensorsFile opened = open.get(file);
        if (opened == null) {
            opened = SafetensorsFile.open(folder.resolve(file));
            try {
                requireAll(file, opened);
                requireNoOthers(file, opened);
            } catch (IOException | RuntimeException | Error failure) {
                opened.close();
                throw failure;
            }
            open.put(file, opened);
        }
        return opened;
    }

    /** What the index says is in a file has to be there. */
    private void requireAll(String file, SafetensorsFile opened) throws SafetensorsFormatException {
        Set<String> there = opened.tensors().keySet();
        for (Map.Entry<String, String> entry : fileOf.entrySet()) {
            if (entry.getValue().equals(file) && !there.contains(entry.getKey())) {
                throw Header.wrong(
                        folder.resolve(file).toString(), entry.getKey(), "a tensor, as " + INDEX + " says", "absent");
            }
        }
    }

    /** A tensor that stands in two files would be one thing to one reader and another to the next. */
    private void requireNoOthers(String file, SafetensorsFile opened) throws SafetensorsFormatException {
        for (String name : opened.tensors().keySet()) {
            String right = fileOf.getOrDefault(name, file);
            if (!right.equals(file)) {
                throw Header.wrong(
                        folder.resolve(file).toString(),
                        name,
                        "a tensor of " + Header.shown(right) + " alone, as " + INDEX + " says,",
                        "here too");
            }
        }
    }

    @Override
    public synchronized void close() throws IOException {
        closed = true;
        List<IOException> failures = new ArrayList<>();
        for (SafetensorsFile file : open.values()) {
            try {
                file.close();
            } catch (IOException e) {
                failures.add(e);
            }
        }
        open.clear();
        if (!failures.isEmpty()) {
            throw failures.get(0);
        }
    }
}
