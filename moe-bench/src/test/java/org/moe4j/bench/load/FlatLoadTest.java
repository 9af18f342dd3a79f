package org.moe4j.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/** Neither the process nor its heap grows with the calls of a layer, whether they succeed or fail half-way. */
@EnabledOnOs(value = OS.LINUX, disabledReason = "resident memory is read from /proc")
final class FlatLoadTest {
    private static final long ALLOWED = 16L << 20;
    private static final long HEAP_ALLOWED = 1L << 20;
    private static final Pattern GREW =
            Pattern.compile("grew (-?\\d+) bytes, then (-?\\d+), heap (-?\\d+), wrong (\\d+)");

    private static void flat(String backend, String kind, int calls) throws IOException, InterruptedException {
        List<String> options = List.of(
                "-Xms256m",
                "-Xmx256m",
                "-XX:+AlwaysPreTouch", // or the first use of the heap's pages would be counted
                // The JIT takes its memory for a whole layer once: early.
                "-XX:Tier4InvocationThreshold=400",
                "-XX:Tier4MinInvocationThreshold=300",
                "--add-modules",
                "jdk.incubator.vector");
        String printed = ChildJvm.run(
                Duration.ofMinutes(6), options, FlatProgram.class, backend, "2000", Integer.toString(calls), kind);
        Matcher grew = GREW.matcher(printed);
        assertThat(grew.find()).as(printed).isTrue();
        // What calls leave behind grows in either half; what the JIT takes once, in one of them.
        long ofCalls = 2 * Math.min(Long.parseLong(grew.group(1)), Long.parseLong(grew.group(2)));
        assertThat(ofCalls).as(printed).isLessThanOrEqualTo(ALLOWED);
        assertThat(Long.parseLong(grew.group(3))).as(printed).isLessThanOrEqualTo(HEAP_ALLOWED);
        assertThat(grew.group(4)).as(printed).isEqualTo("0");
        Promise.measured(
                20,
                backend + ", " + kind,
                String.format(
                        Locale.ROOT,
                        "%,d calls: resident memory grew by %,d KiB in the first half and %,d in the second, the heap by %,d KiB",
                        calls,
                        Long.parseLong(grew.group(1)) >> 10,
                        Long.parseLong(grew.group(2)) >> 10,
                        Long.parseLong(grew.group(3)) >> 10));
    }

    @ParameterizedTest
    @CsvSource({"vector, failing", "nd4j, failing"})
    void memoryStaysFlat(String backend, String kind) throws IOException, InterruptedException {
        flat(backend, kind, 4_000);
    }

    @Tag("soak")
    @ParameterizedTest
    @CsvSource({"vector, failing", "vector, succeeding", "nd4j, failing", "nd4j, succeeding"})
    void memoryStaysFlatOverManyCalls(String backend, String kind) throws IOException, InterruptedException {
        flat(backend, kind, Integer.getInteger("moe.memoryCalls", 100_000));
    }
}
