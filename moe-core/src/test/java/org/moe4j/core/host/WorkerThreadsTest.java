package org.moe4j.core.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.testing.ChildJvm;

/** Helpers are few whatever the number of backends and callers, keep no JVM alive, and end when there is nothing to do. */
class WorkerThreadsTest {
    private static String run(int idleSeconds) throws IOException, InterruptedException {
        return ChildJvm.run(
                Duration.ofMinutes(2),
                List.of("--add-modules", "jdk.incubator.vector"),
                WorkerThreadsProgram.class,
                Integer.toString(idleSeconds));
    }

    /** Two: three workers less the caller, or as many as processors less one where that is more. */
    private static int most() {
        return Math.max(2, Runtime.getRuntime().availableProcessors() - 1);
    }

    @Test
    void thereAreNoMoreThanTheLargestNumberOfWorkersAsksFor() throws IOException, InterruptedException {
        String printed = run(0);
        Matcher line = Pattern.compile("at most (\\d+) helpers, then \\d+, others \\[\\]")
                .matcher(printed);
        assertThat(line.find()).as(printed).isTrue();
        assertThat(Integer.parseInt(line.group(1))).isBetween(1, most());
    }

    @Tag("soak")
    @Test
    void theyEndAfterHalfAMinuteWithoutWork() throws IOException, InterruptedException {
        assertThat(run(35)).contains(", then 0, others []");
    }
}
