package org.moe4j.bench.cli;

import org.moe4j.core.backend.Backend;
import picocli.CommandLine.Option;

/** The option of studies that run in double precision: on which backend. */
final class PreciseBackend {
    @Option(
            names = "--backend",
            paramLabel = "vector|nd4j|reference",
            converter = BackendChoice.Converter.class,
            defaultValue = "nd4j",
            description = "Where the layers run, in double precision (default: ${DEFAULT-VALUE}).")
    private BackendChoice choice = BackendChoice.ND4J;

    /** In double precision. */
    Backend chosen() {
        return choice.precise();
    }
}
