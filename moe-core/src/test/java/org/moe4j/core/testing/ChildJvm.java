package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.opentest4j.TestAbortedException;

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
        return run(limit, java(), options, Map.of(), main, arguments);
    }

    /**
     * Whether a line is a warning of the JVM itself: of modules in incubation, and of newer ones about native access.
     *
     * @param line that was printed
     * @return whether the program has nothing to do with it
     */
    public static boolean isWarning(String line) {
        return line.isBlank() || line.startsWith("WARNING: ");
    }

    /** The program {@code java} of this JVM. */
    public static Path java() {
        return Path.of(System.getProperty("java.home"), "bin", "java");
    }

    /**
     * That of the newest other JDK beside this one that has what a test needs: at least 17, not of the same feature release; or the one that
     * {@code -Dmoe.other.jdk} names. Without one the test is skipped, with what each lacks.
     *
     * @param modules that the program needs
     * @return the program {@code java}
     * @throws IOException when the folder beside this JDK cannot be read
     */
    public static Path otherJava(String... modules) throws IOException {
        String named = System.getProperty("moe.other.jdk");
        Path beside = Path.of(System.getProperty("java.home")).toRealPath().getParent();
        try (Stream<Path> homes = named == null ? Files.list(beside) : Stream.of(Path.of(named))) {
            return otherJava(homes.toList(), named == null ? Runtime.version().feature() : 0, modules);
        }
    }

    static Path otherJava(List<Path> homes, int own, String... modules) {
        List<String> lacking = new ArrayList<>();
        List<Path> newest = homes.stream()
                .filter(home -> Files.isExecutable(home.resolve("bin/java")))
                .filter(home -> feature(home) >= 17 && feature(home) != own)
                .sorted(Comparator.comparingInt(ChildJvm::feature).reversed())
                .toList();
        for (Path home : newest) {
            List<String> missing = new ArrayList<>(List.of(modules));
            missing.removeAll(List.of(released(home, "MODULES").split(" ")));
            if (missing.isEmpty()) {
                return home.resolve("bin/java");
            }
            lacking.add(home + " lacks " + missing);
        }
        throw new TestAbortedException("expected another JDK, 17 or newer, on this machine but was "
                + (lacking.isEmpty() ? "none" : lacking + "; -Dmoe.other.jdk names another"));
    }

    /** The feature release of a JDK, from the file that every JDK has; 0 without it. */
    static int feature(Path home) {
        String version = released(home, "JAVA_VERSION");
        boolean old = version.isEmpty() || version.startsWith("1."); // JDK 8 and before, which Runtime.Version refuses
        return old ? 0 : Runtime.Version.parse(version).feature();
    }

    /** A value of the file {@code release}; empty without it. */
    private static String released(Path home, String key) {
        try (Stream<String> lines = Files.lines(home.resolve("release"))) {
            return lines.filter(line -> line.startsWith(key + "="))
                    .map(line -> line.substring(line.indexOf('"') + 1, line.lastIndexOf('"')))
                    .findFirst()
                    .orElse("");
        } catch (IOException noRelease) {
            return "";
        }
    }

    /**
     * The same in another JVM and with other variables.
     *
     * @param limit after which it is killed, and the test fails
     * @param java the program that starts the JVM
     * @param options of the JVM
     * @param environment variables beside those of this process; an empty value takes one away
     * @param main the program
     * @param arguments of the program
     * @return what it printed on both streams
     * @throws IOException when it cannot be started
     * @throws InterruptedException when the test is interrupted
     */
    public static String run(
            Duration limit,
            Path java,
            List<String> options,
            Map<String, String> environment,
            Class<?> main,
            String... arguments)
            throws IOException, InterruptedException {
        return run(limit, List.of(java.toString()), options, environment, main, arguments);
    }

    /**
     * Runs it to its end with no more memory than given; needs a shell that can limit it.
     *
     * @param kilobytes of address space
     * @param limit after which it is killed, and the test fails
     * @param options of the JVM
     * @param main the program
     * @param arguments of the program
     * @return what it printed on both streams
     * @throws IOException when it cannot be started
     * @throws InterruptedException when the test is interrupted
     */
    public static String runWithin(
            long kilobytes, Duration limit, List<String> options, Class<?> main, String... arguments)
            throws IOException, InterruptedException {
        String limited = "ulimit -v " + kilobytes + " && exec \"$0\" \"$@\"";
        return run(limit, List.of("sh", "-c", limited, java().toString()), options, Map.of(), main, arguments);
    }

    /**
     * Runs it to its end with some classes in place of those of the same names.
     *
     * @param instead a folder of classes that are found before all others
     * @param limit after which it is killed, and the test fails
     * @param options of the JVM
     * @param main the program
     * @param arguments of the program
     * @return what it printed on both streams
     * @throws IOException when it cannot be started
     * @throws InterruptedException when the test is interrupted
     */
    public static String runWith(Path instead, Duration limit, List<String> options, Class<?> main, String... arguments)
            throws IOException, InterruptedException {
        String classPath = instead + File.pathSeparator + System.getProperty("java.class.path");
        return run(limit, List.of(java().toString()), options, Map.of(), classPath, main, arguments);
    }

    private static String run(
            Duration limit,
            List<String> starter,
            List<String> options,
            Map<String, String> environment,
            Class<?> main,
            String... arguments)
            throws IOException, InterruptedException {
        String classPath = System.getProperty("java.class.path");
        return run(limit, starter, options, environment, classPath, main, arguments);
    }

    private static String run(
            Duration limit,
            List<String> starter,
            List<String> options,
            Map<String, String> environment,
            String classPath,
            Class<?> main,
            String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(starter);
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, main.getName()));
        command.addAll(Arrays.asList(arguments));
        Path output = Files.createTempFile("child", ".txt"); // a pipe would have to be read, which has no limit in time
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().putAll(environment);
        builder.environment().values().removeIf(String::isEmpty);
        Process child = builder.start();
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
