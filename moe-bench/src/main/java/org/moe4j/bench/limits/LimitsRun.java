package org.moe4j.bench.limits;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

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
            int status = start(List.of(Double.toString(quick ? QUICK_SECONDS : FULL_SECONDS), file.toString()));
            if (status != 0) {
                throw new IOException("limits: expected the measurement to end well but its status was " + status
                        + "; standard error says why");
            }
            return new ObjectMapper().readValue(file.toFile(), LimitsResult.class);
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static int start(List<String> arguments) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--add-modules=jdk.incubator.vector",
                        "-Xmx6g",
                        "-XX:G1HeapRegionSize=1m", // a matrix of 8 MB fills 9 of them, and 3 of the usual 4 MB
                        "-XX:+IgnoreUnrecognizedVMOptions", // huge pages by request are of Linux
                        "-XX:+UseTransparentHugePages",
                        "-cp",
                        System.getProperty("java.class.path"),
                        LimitsMeasurement.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.command().addAll(arguments);
        Map<String, String> environment = builder.environment();
        environment.remove("OPENBLAS_CORETYPE"); // both cap the speed of OpenBLAS
        environment.remove("OPENBLAS_L2_SIZE");
        Process process = builder.start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy)); // a signal may reach the command alone
        try {
            return process.waitFor();
        } catch (InterruptedException e) {
            process.destroy();
            Thread.currentThread().interrupt();
            throw new IOException("limits: expected the measurement to end but was interrupted", e);
        }
    }
}
