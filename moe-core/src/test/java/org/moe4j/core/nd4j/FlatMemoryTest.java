package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.moe4j.core.testing.ChildJvm;

class FlatMemoryTest {
    private static final int WARM_UP = 100;
    private static final int CALLS = Integer.getInteger("moe.memoryCalls", 200);
    private static final long LIMIT_KILOBYTES = 16 << 10;

    /** In a JVM of its own with a small heap, and without the garbage collections that native memory might ask for. */
    @Test
    void nativeMemoryStaysFlat() throws IOException, InterruptedException {
        assumeTrue(
                Files.isReadable(Path.of("/proc/self/status")),
                "resident memory is read from /proc, which is not here");
        List<String> options = List.of(
                "-Xms256m",
                "-Xmx256m",
                "-XX:+AlwaysPreTouch", // or the first use of the heap's pages would be counted
                "-XX:+DisableExplicitGC");
        String output = ChildJvm.run(
                Duration.ofMinutes(10),
                options,
                FlatMemoryProgram.class,
                Integer.toString(WARM_UP),
                Integer.toString(CALLS));
        Matcher line =
                Pattern.compile("^grown (-?\\d+)$", Pattern.MULTILINE).matcher(output); // warnings may stand before
        assertThat(line.find()).as(output).isTrue();
        long grown = Long.parseLong(line.group(1));
        System.out.println(CALLS + " forward and backward: resident memory grew by " + grown + " KiB");
        assertThat(grown).isLessThanOrEqualTo(LIMIT_KILOBYTES);
    }
}
