package org.moe4j.bench.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/**
 * Everything public, called with what no caller should pass, in a JVM of its own: each call returns, or ends in a documented exception
 * whose message reads {@code argument: expected X but was Y}; its arguments stay as they were, and nothing is printed.
 */
@EnabledOnOs({OS.LINUX, OS.MAC})
class BadArgumentsTest {
    /** Of address space: ND4J and OpenBLAS may not take from the machine what the sizes of a hostile call ask for. */
    private static final int KIBIBYTES = 4_500_000;

    @TempDir
    private Path folder;

    @Test
    void badArgumentsAreRefusedByName() throws Exception {
        check("hostile calls", Duration.ofMinutes(2), "1", "3000", "nd4j32");
    }

    @Test
    @Tag("soak")
    void manyBadArgumentsAreRefusedByName() throws Exception {
        check(
                "hostile calls in the long run",
                Duration.ofMinutes(30),
                Long.toString(Long.getLong("moe.seed", 7)),
                "60000",
                "reference",
                "vector32",
                "vector64",
                "nd4j32",
                "nd4j64");
    }

    private void check(String what, Duration limit, String seed, String calls, String... backends) throws Exception {
        List<String> lines = report(limit, seed, calls, backends);
        Set<String> missed = missed(lines, backends);
        for (int again = 1; again <= 3 && !missed.isEmpty(); again++) { // what a draw happened to miss, others reach
            missed.retainAll(missed(report(limit, seed + again, "0", backends), backends));
        }
        assertThat(missed)
                .as("put what these need on the shelf of Exemplars, so that a call of them succeeds")
                .isEmpty();
        Promise.measured(
                22,
                what,
                "0 faults in %s calls of %s methods and constructors on %s; %s"
                        .formatted(
                                value(lines, "calls"),
                                lines.stream()
                                        .filter(line -> line.startsWith("reached"))
                                        .count(),
                                String.join(", ", backends),
                                value(lines, "outcomes")));
    }

    private List<String> report(Duration limit, String seed, String calls, String... backends) throws Exception {
        Path report = folder.resolve("report" + seed + ".txt");
        List<String> arguments = new ArrayList<>(List.of(report.toString(), folder.toString(), seed, calls));
        arguments.addAll(List.of(backends));
        String printed = run(limit, arguments);
        List<String> lines = Files.exists(report) ? Files.readAllLines(report) : List.of();
        String running = Files.readString(Findings.running(report)).replace("\0", "");
        assertThat(lines)
                .as("seed %s, in %s, printed %s", seed, running, printed)
                .isNotEmpty();
        assertThat(lines.stream().filter(line -> line.startsWith("fault")))
                .as("seed %s", seed)
                .isEmpty();
        assertThat(printed.lines().filter(line -> !ChildJvm.isWarning(line)))
                .as("printed")
                .isEmpty();
        return lines;
    }

    private static String value(List<String> lines, String name) {
        return lines.stream()
                .filter(line -> line.startsWith(name + "\t"))
                .map(line -> line.substring(name.length() + 1))
                .findFirst()
                .orElseThrow();
    }

    /** A new method has to be within reach of {@link Exemplars}; those in {@link Unreached} say why they are not. */
    private static Set<String> missed(List<String> lines, String... backends) {
        Set<String> reached = lines.stream()
                .filter(line -> line.startsWith("reached\t"))
                .map(line -> line.substring("reached\t".length()))
                .collect(Collectors.toSet());
        return PublicApi.executables().stream()
                .filter(executable -> !executable.getName().equals("close"))
                .filter(executable -> hasBackend(executable.getDeclaringClass(), backends))
                .map(Object::toString)
                .filter(executable -> !reached.contains(executable) && !Unreached.isKnown(executable))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** A backend's own methods need its own matrices. */
    private static boolean hasBackend(Class<?> type, String... backends) {
        return !Backend.class.isAssignableFrom(type)
                || type == Backend.class
                || Arrays.stream(backends)
                        .anyMatch(name ->
                                type.getSimpleName().toLowerCase(Locale.ROOT).startsWith(name.replaceAll("\\d", "")));
    }

    private String run(Duration limit, List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "ulimit -v " + KIBIBYTES + "; exec \"$@\"", "sh"));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(
                "-Xmx256m",
                "-XX:CompressedClassSpaceSize=128m",
                "-XX:ReservedCodeCacheSize=128m",
                "-XX:-OmitStackTraceInFastThrow",
                "-XX:ErrorFile=" + folder.resolve("crash.txt"),
                "--add-modules",
                "jdk.incubator.vector"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), RobotProbe.class.getName()));
        command.addAll(arguments);
        Path output = folder.resolve("printed.txt");
        Process child = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(child.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS))
                    .as("ended within %s", limit)
                    .isTrue();
            return Files.readString(output);
        } finally {
            child.destroyForcibly().waitFor();
        }
    }

    @Test
    void theVerdictFindsWhatIsNoRefusal() {
        assertThat(Verdict.fault(new IllegalArgumentException("topK: expected 1..8 (experts) but was 9"), false))
                .isEmpty();
        assertThat(List.of(
                        new IllegalArgumentException("bad"),
                        new ArithmeticException("/ by zero"),
                        new ArrayIndexOutOfBoundsException("Index 3 out of bounds for length 2"),
                        new NegativeArraySizeException("-1"),
                        new ClassCastException("a: expected b but was c"),
                        new StackOverflowError(),
                        new NullPointerException("a: expected b but was c")))
                .allMatch(thrown -> Verdict.fault(thrown, false).isPresent());
        double[] numbers = {1, 2};
        int before = Fingerprint.of(List.of(List.of(1), numbers));
        numbers[1] = 3;
        assertThat(Fingerprint.of(List.of(List.of(1), numbers))).isNotEqualTo(before);
    }
}
