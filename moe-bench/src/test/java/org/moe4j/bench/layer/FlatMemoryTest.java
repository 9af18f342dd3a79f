package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.moe4j.core.testing.ChildJvm;

/**
 * Native memory stays flat over any number of calls without the garbage collector being asked: a JVM of its own with a
 * small heap, explicit collections disabled, 10,000 forward and backward calls. {@code FlatLoadTest} has fewer in every run.
 */
@Tag("soak")
class FlatMemoryTest {
    private static final long ALLOWED = 16L << 20;

    @Test
    @EnabledOnOs(value = OS.LINUX, disabledReason = "resident memory is read from /proc")
    void tenThousandForwardAndBackwardCallsDoNotGrow() throws Exception {
        List<String> options = List.of(
                "-Xmx256m",
                "-XX:+DisableExplicitGC",
                "-XX:+AlwaysPreTouch", // so that a heap region used for the first time is no growth
                // The JIT takes some 20 MB once, to compile a whole layer, and the C library keeps them: at 5,000 calls
                // unless told to do it during the warm-up.
                "-XX:Tier4InvocationThreshold=400",
                "-XX:Tier4MinInvocationThreshold=300");
        String printed = ChildJvm.run(Duration.ofMinutes(18), options, MemoryProbe.class, "2000", "10000");
        Matcher grew = Pattern.compile("grew (-?\\d+) bytes, then (-?\\d+) ").matcher(printed);
        assertThat(grew.find()).as(printed).isTrue();
        // What calls leave behind grows in either half; what the JIT takes once, in one of them.
        long ofCalls = 2 * Math.min(Long.parseLong(grew.group(1)), Long.parseLong(grew.group(2)));
        assertThat(ofCalls).as(printed).isLessThanOrEqualTo(ALLOWED);
    }
}
