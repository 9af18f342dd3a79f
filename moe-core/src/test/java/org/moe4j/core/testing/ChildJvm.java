package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A program in a JVM of its own, with the class path of the test. */
public final class ChildJvm {
    private ChildJvm() {}

    /**
     * Runs it to its end.
     *
     * @param limit after which it is killed, and the test fails
     * @param options of the JVM
     * @param main the program
     * @param arguments of the program
     * @return what it printed on both streams
     * @throws IOException when it cannot be started
     * @throws InterruptedException when the test is interrupted
     */
    public static String run(Duration limit, List<String> options, Class<?> main, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(Arrays.asList(arguments));
        Path output = Files.createTempFile("child", ".txt"); // a pipe would have to be read, which has no limit in time
        Process child = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            boolean ended = child.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
            String printed = Files.readString(output);
            assertThat(ended).as("ended within %s; printed %s", limit, printed).isTrue();
            assertThat(child.exitValue()).as(printed).isZero();
            return printed;
        } finally {
            child.destroyForcibly().waitFor();
            Files.delete(output);
        }
    }
}
