package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * Native memory stays flat over any number of calls without the garbage collector being asked: a JVM of its own with a
 * small heap, explicit collections disabled, 10,000 forward and backward calls.
 */
class FlatMemoryTest {
    private static final long ALLOWED = 16L << 20;

    @Test
    @EnabledOnOs(value = OS.LINUX, disabledReason = "resident memory is read from /proc")
    void tenThousandForwardAndBackwardCallsDoNotGrow() throws Exception {
        Process child = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-XX:+DisableExplicitGC",
                        "-XX:+AlwaysPreTouch", // so that a heap region used for the first time is no growth
                        // The JIT takes some 20 MB once, to compile a whole layer, and the C library keeps them: at
                        // 5,000 calls
                        // unless told to do it during the warm-up.
                        "-XX:Tier4InvocationThreshold=400",
                        "-XX:Tier4MinInvocationThreshold=300",
                        "-cp",
                        System.getProperty("java.class.path"),
                        MemoryProbe.class.getName(),
                        "2000",
                        "10000")
                .redirectErrorStream(true)
                .start();
        String printed = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(child.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(child.exitValue()).as(printed).isZero();
        Matcher grew = Pattern.compile("grew (-?\\d+) bytes").matcher(printed);
        assertThat(grew.find()).as(printed).isTrue();
        assertThat(Long.parseLong(grew.group(1))).as(printed).isLessThanOrEqualTo(ALLOWED);
    }
}
