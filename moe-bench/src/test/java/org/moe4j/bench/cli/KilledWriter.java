package org.moe4j.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.checkpoint.CheckpointWriter;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorInfo;
import org.moe4j.checkpoint.trace.TraceWriter;
import org.moe4j.core.backend.RowSource;
import org.moe4j.router.analysis.LogitSource;

/** Writes each kind of file without an end, an old content and a new one in turns, until it is killed. */
final class KilledWriter {
    /** Width of the tokens of the fixture {@code olmoe}. */
    private static final int WIDTH = 32;

    /** What is written: each kind is a file, and a checkpoint a folder. */
    enum Kind {
        TENSORS("tensors.safetensors"),
        TRACE("trace.safetensors"),
        REPORT("report.md"),
        RUN("output.safetensors"),
        CHECKPOINT("checkpoint");

        private final String file;

        Kind(String file) {
            this.file = file;
        }

        String file() {
            return file;
        }

        /** Writes it into a folder; a checkpoint under a name of its own, as none is ever written over. */
        void write(Path folder, boolean old) throws IOException {
            Path target = folder.resolve(file);
            switch (this) {
                case TENSORS ->
                    SafetensorsWriter.write(
                            target, List.of(tensor(old ? 400 : 900, old ? 1 : 2)), Map.of("old", "" + old));
                case TRACE ->
                    TraceWriter.writeLogits(target, Map.of("0", logits(old ? 1000 : 3000)), ElementType.F32, Map.of());
                case REPORT -> OutputFolder.open(folder).write(file, (old ? "old\n" : "new row\n").repeat(50_000));
                case RUN -> run(folder, target, old);
                case CHECKPOINT -> saveCheckpoint(folder.resolve(file + UUID.randomUUID()));
            }
        }
    }

    private KilledWriter() {}

    private static TensorContent tensor(int rows, double value) {
        return TensorContent.of("x", ElementType.F32, rows, 256, new RowSource() {
            @Override
            public void read(int row, float[] into) {
                Arrays.fill(into, (float) value);
            }

            @Override
            public void read(int row, double[] into) {
                Arrays.fill(into, value);
            }
        });
    }

    private static LogitSource logits(int tokens) {
        return LogitSource.of(
                8, IntStream.range(0, 8 * tokens).mapToDouble(i -> i % 13).toArray());
    }

    private static void run(Path folder, Path target, boolean old) throws IOException {
        Path input = folder.resolve(old ? "old-input.safetensors" : "new-input.safetensors");
        if (!Files.exists(input)) {
            SafetensorsWriter.write(
                    input,
                    List.of(TensorContent.of(
                            "hidden_states", ElementType.F32, old ? 30 : 40, WIDTH, new TokenRows(old ? 1 : 2))),
                    Map.of());
        }
        StringWriter printed = new StringWriter();
        int status = Moe.execute(
                Moe.commandLine().setOut(new PrintWriter(printed)).setErr(new PrintWriter(printed)),
                "run",
                RunFixture.named("olmoe").folder().toString(),
                "--layer",
                "0",
                "--input",
                input.toString(),
                "--output",
                target.toString(),
                "--backend",
                "reference");
        if (status != 0) {
            throw new IllegalStateException(printed.toString());
        }
    }

    private record TokenRows(int seed) implements RowSource {
        @Override
        public void read(int row, float[] into) {
            for (int i = 0; i < into.length; i++) {
                into[i] = (float) Math.sin(seed + row * 37 + i);
            }
        }

        @Override
        public void read(int row, double[] into) {
            for (int i = 0; i < into.length; i++) {
                into[i] = Math.sin(seed + row * 37 + i);
            }
        }
    }

    private static void saveCheckpoint(Path target) throws IOException {
        try (MoeCheckpoint original =
                MoeCheckpoint.open(RunFixture.named("olmoe").folder())) {
            CheckpointWriter.save(original, original.config(), List.of(), target);
        }
    }

    /**
     * Begins, says so, and goes on.
     *
     * @param arguments a folder in which each file was written once
     */
    public static void main(String[] arguments) {
        Path folder = Path.of(arguments[0]);
        ProcessHandle test = ProcessHandle.current().parent().orElseThrow(); // which may be killed itself
        for (Kind kind : Kind.values()) {
            Thread writer = new Thread(() -> write(kind, folder, test), kind.file());
            writer.setDaemon(false);
            writer.start();
        }
    }

    private static void write(Kind kind, Path folder, ProcessHandle test) {
        try {
            for (int i = 0; test.isAlive(); i++) {
                kind.write(folder, (i & 1) == 1);
                if (i == 0) {
                    Files.writeString(folder.resolve("begun-" + kind.file()), "");
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All tensors of a file can be read. */
    static void requireWhole(Path file) throws IOException {
        try (SafetensorsFile opened = SafetensorsFile.open(file)) {
            for (String name : opened.tensors().keySet()) {
                TensorInfo info = opened.info(name);
                byte[] bytes = new byte[(int) (info.end() - info.begin())];
                opened.tensor(name).readBytes(0, bytes, (int) info.elements());
            }
        }
    }
}
