package org.moe4j.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/**
 * Neither the process nor its heap grows with the calls of a layer, whether they succeed or fail half-way. What calls leave behind grows in every
 * part of them; what the compiler of the JVM takes, only in some, and in the JVMs here in the first ones. So the smallest parts tell: what is seen
 * is 168 bytes a call, and whatever is more.
 */
@EnabledOnOs(value = OS.LINUX, disabledReason = "resident memory is read from /proc")
final class FlatLoadTest {
    private static final int PARTS = 6;
    private static final long ALLOWED_PER_CALL = (16L << 20) / 100_000;
    private static final long HEAP_ALLOWED = 1L << 20;
    private static final Pattern GREW = Pattern.compile("grew \\[(.*)\\], heap (-?\\d+), wrong (\\d+)");

    /** Memory that the C library keeps for its threads goes back to the system, or it would come and go by itself. */
    private static final Map<String, String> TRIMMED =
            Map.of("MALLOC_ARENA_MAX", "1", "MALLOC_TRIM_THRESHOLD_", "65536");

    private static List<String> options(String backend) {
        List<String> options = new ArrayList<>(List.of(
                "-Xms256m",
                "-Xmx256m",
                "-XX:+AlwaysPreTouch", // or the first use of the heap's pages would be counted
                "--add-modules",
                "jdk.incubator.vector"));
        // The compiler takes its memory early and once; vectors need the one that knows their instructions.
        options.addAll(
                backend.equals("vector")
                        ? List.of("-XX:-TieredCompilation", "-XX:CompileThreshold=500", "-Xbatch")
                        : List.of("-XX:TieredStopAtLevel=1"));
        return options;
    }

    private static void flat(String backend, String kind, int calls) throws IOException, InterruptedException {
        String printed = ChildJvm.run(
                Duration.ofMinutes(6),
                ChildJvm.java(),
                options(backend),
                TRIMMED,
                FlatProgram.class,
                backend,
                "2000",
                Integer.toString(calls),
                kind,
                Integer.toString(PARTS));
        Matcher grew = GREW.matcher(printed);
        assertThat(grew.find()).as(printed).isTrue();
        long[] parts =
                Stream.of(grew.group(1).split(", ")).mapToLong(Long::parseLong).toArray();
        assertThat(parts).as(printed).hasSize(PARTS);
        long ofCalls = LongStream.of(parts).sorted().skip(2).findFirst().orElseThrow(); // two may have given back
        assertThat(ofCalls).as(printed).isLessThan(ALLOWED_PER_CALL * (calls / PARTS));
        assertThat(Long.parseLong(grew.group(2))).as(printed).isLessThanOrEqualTo(HEAP_ALLOWED);
        assertThat(grew.group(3)).as(printed).isEqualTo("0");
        Promise.measured(
                20,
                backend + ", " + kind,
                String.format(
                        Locale.ROOT,
                        "%,d calls in %d parts: resident memory grew by %s KiB, %,d bytes a call in the third smallest; the heap by %,d KiB",
                        calls,
                        PARTS,
                        LongStream.of(parts)
                                .mapToObj(part -> Long.toString(part >> 10))
                                .collect(Collectors.joining(", ")),
                        ofCalls / (calls / PARTS),
                        Long.parseLong(grew.group(2)) >> 10));
    }

    @ParameterizedTest
    @CsvSource({"vector, failing", "nd4j, failing"})
    void memoryStaysFlat(String backend, String kind) throws IOException, InterruptedException {
        flat(backend, kind, 6_000);
    }

    @Tag("soak")
    @ParameterizedTest
    @CsvSource({"vector, failing", "vector, succeeding", "nd4j, failing", "nd4j, succeeding"})
    void memoryStaysFlatOverManyCalls(String backend, String kind) throws IOException, InterruptedException {
        flat(backend, kind, Integer.getInteger("moe.memoryCalls", 100_000));
    }
}
