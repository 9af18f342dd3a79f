package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/** Without memory a call ends in an {@link OutOfMemoryError}; the next one is right, and nothing is lost. */
class FullMemoryTest {
    private static final int FEW = 24;
    private static final int MANY = 1_000;

    private static void heap(String backend, int tries) throws IOException, InterruptedException {
        List<String> options = List.of("-Xmx24m", "-XX:+UseSerialGC", "--add-modules", "jdk.incubator.vector");
        String printed = ChildJvm.run(
                Duration.ofMinutes(20), options, FullMemoryProgram.class, backend, Integer.toString(tries));
        Matcher line = Pattern.compile("(\\d+) of \\d+ calls failed, 0 wrong, lost 0 bytes")
                .matcher(printed);
        assertThat(line.find()).as(printed).isTrue();
        assertThat(printed).as("no thread of ours ends with an error").doesNotContain("Exception in thread");
        assertThat(Integer.parseInt(line.group(1))).isGreaterThan(tries / 4);
        Promise.measured(20, "full Java heap, " + backend, line.group());
    }

    @Test
    void aFullJavaHeapLosesNothing() throws IOException, InterruptedException {
        heap("nd4j", FEW);
        heap("vector", FEW);
    }

    @Tag("soak")
    @Test
    void aJavaHeapThatIsFullAtManyPlacesLosesNothing() throws IOException, InterruptedException {
        heap("nd4j", MANY);
        heap("vector", MANY);
    }

    /** The system gives the process no more than so much address space. */
    @Test
    @EnabledOnOs(value = OS.LINUX, disabledReason = "the limit is set by a shell's ulimit")
    void fullNativeMemoryIsSaidAndLosesNothing() throws IOException, InterruptedException {
        List<String> options = List.of(
                "-Xmx64m", "-XX:CompressedClassSpaceSize=32m", "-XX:ReservedCodeCacheSize=48m", "-XX:+UseSerialGC");
        String printed =
                ChildJvm.runWithin(2_500_000, Duration.ofMinutes(2), options, FullMemoryProgram.class, "native");
        assertThat(printed)
                .containsPattern("full: native memory: no 67\\d+ bytes beside \\d+ in use")
                .containsPattern("call: native memory: no \\d+ bytes beside \\d+ in use")
                .contains("kept 0\n", "right, lost 0 bytes");
        Promise.measured(20, "full native memory", printed.lines().reduce("", (before, line) -> line));
    }
}
