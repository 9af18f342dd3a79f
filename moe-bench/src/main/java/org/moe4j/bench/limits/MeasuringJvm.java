package org.moe4j.bench.limits;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A JVM for a measurement, with the memory and the module that it needs; what limits the speed of OpenBLAS is left out. */
public final class MeasuringJvm {
    private MeasuringJvm() {}

    /**
     * Runs a program to its end. Its standard output is dropped.
     *
     * @param task name in messages
     * @param main class with a main method
     * @param arguments of the program
     * @throws IOException when it cannot be started, is interrupted or fails
     */
    public static void run(String task, Class<?> main, List<String> arguments) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--add-modules=jdk.incubator.vector",
                        "-Xmx6g",
                        "-XX:G1HeapRegionSize=1m", // a matrix of 8 MB fills 9 of them, and 3 of the usual 4 MB
                        "-XX:+IgnoreUnrecognizedVMOptions", // huge pages by request are of Linux
                        "-XX:+UseTransparentHugePages",
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.command().addAll(arguments);
        Map<String, String> environment = builder.environment();
        environment.remove("OPENBLAS_CORETYPE"); // both cap the speed of OpenBLAS
        environment.remove("OPENBLAS_L2_SIZE");
        Process process = builder.start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy)); // a signal may reach the command alone
        try {
            int status = process.waitFor();
            if (status != 0) {
                throw new IOException(task + ": expected the measurement to end well but its status was " + status
                        + "; standard error says why");
            }
        } catch (InterruptedException e) {
            process.destroy();
            Thread.currentThread().interrupt();
            throw new IOException(task + ": expected the measurement to end but was interrupted", e);
        }
    }
}
