package org.moe4j.bench.limits;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The measurement in a JVM of its own, which has the memory and the module it needs. */
public final class LimitsRun {
    private static final double FULL_SECONDS = 2;
    private static final double QUICK_SECONDS = 0.3;

    private LimitsRun() {}

    /**
     * Measures.
     *
     * @param quick some 20 seconds instead of a few minutes
     * @return the result
     * @throws IOException when the JVM cannot be started or fails
     */
    public static LimitsResult measure(boolean quick) throws IOException {
        Path file = Files.createTempFile("limits", ".json");
        file.toFile().deleteOnExit(); // also where the command is interrupted
        try {
            MeasuringJvm.run(
                    "limits",
                    LimitsMeasurement.class,
                    List.of(Double.toString(quick ? QUICK_SECONDS : FULL_SECONDS), file.toString()));
            return new ObjectMapper().readValue(file.toFile(), LimitsResult.class);
        } finally {
            Files.deleteIfExists(file);
        }
    }
}
