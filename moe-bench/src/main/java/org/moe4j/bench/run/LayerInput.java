package org.moe4j.bench.run;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorInfo;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Spelling;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.RoutingContext;

/**
 * The activations that a layer is run on, all of them finite: {@code hidden_states} and, for a backward run, {@code d_output}.
 *
 * @param shape of both, [T, D] or [B, S, D]
 * @param tokens h, a row for each token
 * @param dOutput gradient of the output, if the file has it
 * @param unused what is said of tensors that have no meaning here
 */
record LayerInput(List<Long> shape, Matrix tokens, Optional<Matrix> dOutput, List<String> unused)
        implements AutoCloseable {
    static final String TOKENS = "hidden_states";
    static final String GRADIENT = "d_output";

    private static final Set<ElementType> TYPES =
            EnumSet.of(ElementType.F64, ElementType.F32, ElementType.F16, ElementType.BF16);

    /**
     * Reads a file.
     *
     * @param path of the file
     * @param width D
     * @param backend makes the matrices
     * @param type F32 or F64: the numbers have to be finite in it
     * @throws IOException when it cannot be read
     * @throws IllegalArgumentException when a tensor is missing, of a wrong type or shape, or has a number that is not finite
     */
    static LayerInput read(Path path, int width, Backend backend, ElementType type) throws IOException {
        if (!Files.isRegularFile(path)) {
            throw new NoSuchFileException("--input: expected a safetensors file but found none at " + path);
        }
        try (SafetensorsFile file = SafetensorsFile.open(path);
                Unfinished made = new Unfinished()) {
            Set<String> names = file.tensors().keySet();
            if (!names.contains(TOKENS)) {
                throw new IllegalArgumentException(path + ": expected a tensor " + TOKENS + " but was a file with "
                        + (names.isEmpty() ? "none" : "these: " + String.join(", ", names)) + meant(names));
            }
            List<Long> shape = shape(path, file.info(TOKENS), width);
            Matrix tokens = made.add(matrix(path, file.tensor(TOKENS), width, backend, type));
            Optional<Matrix> dOutput = Optional.empty();
            if (names.contains(GRADIENT)) {
                if (!file.info(GRADIENT).shape().equals(shape)) {
                    throw wrong(
                            path,
                            GRADIENT,
                            "the shape of " + TOKENS + ", " + shape + ",",
                            file.info(GRADIENT).shape().toString());
                }
                dOutput = Optional.of(made.add(matrix(path, file.tensor(GRADIENT), width, backend, type)));
            }
            made.keep();
            return new LayerInput(shape, tokens, dOutput, unused(path, names));
        }
    }

    private static String meant(Set<String> names) {
        return Spelling.closest(TOKENS, names)
                .map(name -> "; rename " + name + "?")
                .orElse("");
    }

    private static List<Long> shape(Path path, TensorInfo info, int width) {
        List<Long> shape = info.shape();
        boolean rank = shape.size() == 2 || shape.size() == 3;
        if (!rank || shape.get(shape.size() - 1) != width) {
            throw wrong(path, TOKENS, "shape [T, " + width + "] or [B, S, " + width + "]", shape.toString());
        }
        if (info.elements() / Math.max(1, width) > Integer.MAX_VALUE) {
            throw wrong(path, TOKENS, "at most " + Integer.MAX_VALUE + " tokens", shape.toString());
        }
        return shape;
    }

    private static List<String> unused(Path path, Set<String> names) {
        return names.stream()
                .filter(name -> !name.equals(TOKENS) && !name.equals(GRADIENT))
                .map(name -> path + ": " + name + " is not used"
                        + Spelling.closest(name, List.of(TOKENS, GRADIENT))
                                .filter(right -> !names.contains(right))
                                .map(right -> "; did you mean " + right + "?")
                                .orElse(""))
                .toList();
    }

    private static Matrix matrix(Path path, StoredTensor tensor, int width, Backend backend, ElementType type) {
        TensorInfo info = tensor.info();
        if (!TYPES.contains(info.type())) {
            throw wrong(path, info.name(), "numbers of " + TYPES, info.type().toString());
        }
        int rows = (int) (info.elements() / Math.max(1, width));
        double[] wide = new double[width];
        float[] narrow = new float[width];
        for (int i = 0; i < rows; i++) { // ahead of the backend's threads, so that it is the first that is named
            if (type == ElementType.F32) {
                tensor.read((long) i * width, narrow, 0, width);
                Arrays.setAll(wide, j -> narrow[j]);
            } else {
                tensor.read((long) i * width, wide, 0, width);
            }
            requireFinite(path, info, i, wide);
        }
        return backend.matrix(rows, width, new RowSource() {
            @Override
            public void read(int row, float[] into) {
                tensor.read((long) row * width, into, 0, width);
            }

            @Override
            public void read(int row, double[] into) {
                tensor.read((long) row * width, into, 0, width);
            }
        });
    }

    private static void requireFinite(Path path, TensorInfo info, int row, double[] numbers) {
        for (int j = 0; j < numbers.length; j++) {
            if (!Double.isFinite(numbers[j])) {
                String token = "token " + row;
                if (info.shape().size() == 3) {
                    long length = info.shape().get(1);
                    token = "sequence " + row / length + ", token " + row % length;
                }
                throw wrong(path, info.name(), "finite numbers", numbers[j] + " at " + token + ", column " + j);
            }
        }
    }

    private static IllegalArgumentException wrong(Path path, String tensor, String expected, String was) {
        return new IllegalArgumentException(path + ": " + tensor + ": expected " + expected + " but was " + was);
    }

    /** What the router has to know beside the tokens: which of them are one sequence. */
    RoutingContext context() {
        if (shape.size() == 2 || tokens.rows() == 0) {
            return RoutingContext.plain();
        }
        int[] lengths = new int[Math.toIntExact(shape.get(0))];
        Arrays.fill(lengths, Math.toIntExact(shape.get(1)));
        return RoutingContext.plain().withSequences(lengths);
    }

    @Override
    public void close() {
        tokens.close();
        dOutput.ifPresent(Matrix::close);
    }
}
