package org.moe4j.bench.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/**
 * Things that are closed in any order, twice, while another thread uses them: a use reads what it read before, or is an {@link IllegalStateException}, and
 * afterwards it is always the latter. In a JVM of its own, which a read of freed memory would end.
 */
class UseAfterCloseTest {
    private static final Path CHECKPOINT =
            Path.of("..", "moe-checkpoint", "src", "test", "resources", "fixtures", "olmoe");

    @Test
    void usesAreRightOrRefused() throws Exception {
        check("orders of closing", 48, Duration.ofMinutes(2));
    }

    @Test
    @Tag("soak")
    void usesAreRightOrRefusedInManyOrders() throws Exception {
        check("orders of closing in the long run", 1000, Duration.ofMinutes(20));
    }

    /** The twin: what reads other numbers once it is closed is found. */
    @Test
    void otherNumbersAfterCloseAreFound() throws Exception {
        assertThat(probe(Duration.ofMinutes(1), "2", "21", CHECKPOINT.toString(), "planted"))
                .contains("FAILURE java.lang.AssertionError: planted is used after close", " wrong=");
    }

    private static String probe(Duration limit, String... arguments) throws Exception {
        return ChildJvm.run(
                limit, List.of("-Xmx512m", "--add-modules", "jdk.incubator.vector"), CloseProbe.class, arguments);
    }

    private static void check(String what, int orders, Duration limit) throws Exception {
        long seed = Long.getLong("moe.seed", 21);
        String printed = probe(limit, Integer.toString(orders), Long.toString(seed), CHECKPOINT.toString());
        assertThat(printed)
                .as("seed %d", seed)
                .doesNotContain("FAILURE", "wrong=", "failed=")
                .contains("meanwhile right=", "refused=");
        String outcomes = printed.substring(printed.indexOf('{')).strip();
        Promise.measured(
                21,
                what,
                "0 crashes, 0 uses with other numbers and 0 other outcomes in %d orders: %s"
                        .formatted(orders, outcomes));
    }
}
