package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What Jazzer calls with each input, which is a whole file on the disk; all tokens of one that is opened are read. */
public final class TraceFileFuzz {
    private static final Path FILE = temporary();

    private TraceFileFuzz() {}

    private static Path temporary() {
        try {
            Path file = Files.createTempFile("fuzz", ".npy");
            file.toFile().deleteOnExit();
            return file;
        } catch (IOException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /**
     * Opens a trace, which has to be right or refused.
     *
     * @param input any bytes
     * @throws IllegalStateException for an error that does not name the file, which is a fault
     */
    public static void fuzzerTestOneInput(byte[] input) {
        try {
            Files.write(FILE, input);
            for (TraceOptions options : new TraceOptions[] {
                TraceOptions.none().withExperts(4), TraceOptions.none().withTopK(1)
            }) {
                read(options);
            }
        } catch (IOException | IllegalArgumentException | ArithmeticException e) {
            if (!String.valueOf(e.getMessage()).contains(FILE.toString())) {
                throw new IllegalStateException("an error without the file", e);
            }
        }
    }

    private static void read(TraceOptions options) throws IOException {
        TraceFile trace = TraceFile.open(FILE, options);
        for (String layer : trace.layers()) {
            int tokens = Math.toIntExact(trace.tokens());
            trace.source(layer).block(0, tokens);
            if (trace.hasWeights(layer)) {
                trace.routing(layer, 0, tokens);
            }
        }
    }
}
