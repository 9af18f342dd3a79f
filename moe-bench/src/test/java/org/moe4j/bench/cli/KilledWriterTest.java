package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.bench.cli.KilledWriter.Kind;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/** A process that is killed while it writes five kinds of files at once leaves of each the old content or the new one. */
class KilledWriterTest {
    private static final String LEFTOVER = "\\..+\\.[0-9a-f-]{36}\\.tmp";
    private static final long LONGEST_MILLIS = 250; // from where all writers have begun to the kill

    @TempDir
    private Path folder;

    private final Map<Kind, List<byte[]>> contents = new EnumMap<>(Kind.class);

    @Test
    @Timeout(120)
    void aKilledWriterLeavesTheOldFileOrTheNewOne() throws Exception {
        kill("kills", 4);
    }

    @Test
    @Tag("soak")
    @Timeout(1200)
    void manyKilledWritersLeaveTheOldFileOrTheNewOne() throws Exception {
        kill("kills in the long run", 100);
    }

    private void kill(String what, int times) throws Exception {
        Path expected = Files.createDirectory(folder.resolve("expected"));
        Path written = Files.createDirectory(folder.resolve("written"));
        for (Kind kind : Kind.values()) {
            for (boolean old : new boolean[] {true, false}) {
                kind.write(expected, old);
                if (kind != Kind.CHECKPOINT) {
                    contents.computeIfAbsent(kind, all -> new ArrayList<>())
                            .add(Files.readAllBytes(expected.resolve(kind.file())));
                }
            }
            kind.write(written, true);
        }
        long seed = Long.getLong("moe.seed", 19);
        SplittableRandom random = new SplittableRandom(seed);
        int changed = 0;
        for (int i = 0; i < times; i++) {
            killAfter(written, random.nextLong(LONGEST_MILLIS));
            changed += check("seed " + seed + ", kill " + i, written);
        }
        int leftovers = leftovers(written).size();
        for (Kind kind : Kind.values()) {
            kind.write(written, true); // beside all leftovers
        }
        assertThat(changed).as("files that were written anew before the kill").isPositive();
        Promise.measured(
                19,
                what,
                "0 torn files after %d kills of 5 writers; %d times the new content, %d temporary files left"
                        .formatted(times, changed, leftovers));
    }

    private void killAfter(Path written, long millis) throws IOException, InterruptedException {
        for (Kind kind : Kind.values()) {
            Files.deleteIfExists(written.resolve("begun-" + kind.file()));
        }
        Process child = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        KilledWriter.class.getName(),
                        written.toString())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("printed.txt").toFile())
                .start();
        try {
            long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
            while (!Arrays.stream(Kind.values())
                    .allMatch(kind -> Files.exists(written.resolve("begun-" + kind.file())))) {
                assertThat(child.isAlive() && System.nanoTime() < end)
                        .as("all writers begin; printed %s", Files.readString(folder.resolve("printed.txt")))
                        .isTrue();
                Thread.sleep(2);
            }
            Thread.sleep(millis);
        } finally {
            child.destroyForcibly().waitFor();
        }
        assertThat(Files.readAllLines(folder.resolve("printed.txt"))).allMatch(ChildJvm::isWarning);
    }

    /** How many files hold the new content. */
    private int check(String when, Path written) throws IOException {
        int changed = 0;
        for (Map.Entry<Kind, List<byte[]>> kind : contents.entrySet()) {
            byte[] found = Files.readAllBytes(written.resolve(kind.getKey().file()));
            boolean old = Arrays.equals(found, kind.getValue().get(0));
            boolean isNew = Arrays.equals(found, kind.getValue().get(1));
            assertThat(old || isNew)
                    .as("%s: %s is old or new", when, kind.getKey())
                    .isTrue();
            changed += isNew ? 1 : 0;
        }
        try (Stream<Path> files = Files.list(written)) {
            for (Path file : files.filter(Files::isDirectory).toList()) {
                if (!file.getFileName().toString().matches(LEFTOVER)) {
                    requireSameCheckpoint(when, file);
                    remove(file); // or the last kills would judge all checkpoints of the first ones again
                }
            }
        }
        return changed;
    }

    private static void remove(Path checkpoint) throws IOException {
        try (Stream<Path> files = Files.list(checkpoint)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(checkpoint);
    }

    private static void requireSameCheckpoint(String when, Path found) throws IOException {
        Path original = RunFixture.named("olmoe").folder();
        assertThat(found.resolve("config.json")).as(when).hasSameBinaryContentAs(original.resolve("config.json"));
        KilledWriter.requireWhole(found.resolve("model.safetensors"));
        assertThat(Files.size(found.resolve("model.safetensors")))
                .as(when)
                .isEqualTo(Files.size(original.resolve("model.safetensors")));
    }

    private static List<Path> leftovers(Path written) throws IOException {
        try (Stream<Path> files = Files.list(written)) {
            return files.filter(file -> file.getFileName().toString().matches(LEFTOVER))
                    .toList();
        }
    }
}
