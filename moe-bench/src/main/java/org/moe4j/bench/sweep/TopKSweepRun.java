package org.moe4j.bench.sweep;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.moe4j.bench.limits.MeasuringJvm;

/** The measurement in a JVM of its own. */
public final class TopKSweepRun {
    private TopKSweepRun() {}

    /**
     * Measures.
     *
     * @param sweep what is measured
     * @return the result
     * @throws IOException when the JVM cannot be started or fails
     */
    public static TopKSweepResult measure(TopKSweep sweep) throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        Path file = Files.createTempFile("topk-sweep", ".json");
        file.toFile().deleteOnExit(); // also where the command is interrupted
        try {
            mapper.writeValue(file.toFile(), sweep);
            MeasuringJvm.run("topk-sweep", TopKSweepMeasurement.class, List.of(file.toString()));
            return mapper.readValue(file.toFile(), TopKSweepResult.class);
        } finally {
            Files.deleteIfExists(file);
        }
    }
}
