package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.backend.RowSource;
import picocli.CommandLine;

/** A miniature checkpoint, what one of its layers gives by a definition of its own, and the command on it. */
record RunFixture(Path folder, JsonNode facts, Map<String, Numbers> expected) {
    private static final Path ROOT = Path.of("..", "moe-checkpoint", "src", "test", "resources", "fixtures");

    /** A tensor of a file. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    record Numbers(ElementType type, List<Long> shape, double[] values) {
        int columns() {
            return Math.toIntExact(shape.get(shape.size() - 1));
        }

        int rows() {
            return values.length / columns();
        }

        /** Some rows, as F64. */
        Numbers rows(int from, int to) {
            int columns = columns();
            double[] part = new double[(to - from) * columns];
            System.arraycopy(values, from * columns, part, 0, part.length);
            return of(List.of((long) (to - from), (long) columns), part);
        }

        Numbers as(Long... sizes) {
            return new Numbers(type, List.of(sizes), values);
        }

        Numbers as(ElementType other) {
            return new Numbers(other, shape, values);
        }

        static Numbers of(List<Long> shape, double... values) {
            return new Numbers(ElementType.F64, shape, values);
        }
    }

    /** What a command left behind. */
    record Outcome(int status, String out, String err) {}

    static List<String> names() {
        try (Stream<Path> folders = Files.list(ROOT)) {
            return folders.map(folder -> folder.getFileName().toString())
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static RunFixture named(String name) throws IOException {
        Path folder = ROOT.resolve(name);
        return new RunFixture(
                folder,
                new ObjectMapper().readTree(folder.resolve("case.json").toFile()),
                read(folder.resolve("expected.safetensors")));
    }

    static Map<String, Numbers> read(Path path) throws IOException {
        Map<String, Numbers> tensors = new TreeMap<>();
        try (SafetensorsFile file = SafetensorsFile.open(path)) {
            for (String name : file.tensors().keySet()) {
                StoredTensor tensor = file.tensor(name);
                double[] values = new double[Math.toIntExact(tensor.info().elements())];
                tensor.read(0, values, 0, values.length);
                tensors.put(
                        name, new Numbers(tensor.info().type(), tensor.info().shape(), values));
            }
        }
        return tensors;
    }

    static Path write(Path path, Map<String, Numbers> tensors) throws IOException {
        List<TensorContent> contents = new ArrayList<>();
        tensors.forEach((name, numbers) -> contents.add(content(name, numbers)));
        SafetensorsWriter.write(path, contents, Map.of());
        return path;
    }

    static TensorContent content(String name, Numbers numbers) {
        if (numbers.type() == ElementType.I32 || numbers.type() == ElementType.I64) {
            return new TensorContent(name, numbers.type(), numbers.shape(), (from, count, into) -> {
                for (int i = (int) from; i < from + count; i++) {
                    if (numbers.type() == ElementType.I32) {
                        into.putInt((int) numbers.values()[i]);
                    } else {
                        into.putLong((long) numbers.values()[i]);
                    }
                }
            });
        }
        int columns = numbers.columns();
        return TensorContent.ofRows(name, numbers.type(), numbers.shape(), new RowSource() {
            @Override
            public void read(int row, float[] into) {
                for (int j = 0; j < columns; j++) {
                    into[j] = (float) numbers.values()[row * columns + j];
                }
            }

            @Override
            public void read(int row, double[] into) {
                System.arraycopy(numbers.values(), row * columns, into, 0, columns);
            }
        });
    }

    Numbers expected(String name) {
        Numbers numbers = expected.get(name);
        if (numbers == null) {
            throw new IllegalArgumentException(name + ", one of " + expected.keySet());
        }
        return numbers;
    }

    int layer() {
        return facts.get("layer").asInt();
    }

    /** {@code moe run} on this checkpoint's layer. */
    Outcome run(Path input, Path output, String... options) {
        return run(folder, layer(), input, output, options);
    }

    static Outcome run(Path checkpoint, int layer, Path input, Path output, String... options) {
        List<String> arguments = new ArrayList<>(
                List.of("run", checkpoint.toString(), "--layer", "" + layer, "--input", input.toString(), "--output"));
        arguments.add(output.toString());
        arguments.addAll(List.of(options));
        return moe(arguments);
    }

    static Outcome moe(Collection<String> arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Moe.commandLine();
        commandLine.setOut(new PrintWriter(out));
        commandLine.setErr(new PrintWriter(err));
        int status = Moe.execute(commandLine, arguments.toArray(String[]::new));
        return new Outcome(status, out.toString(), err.toString());
    }
}
