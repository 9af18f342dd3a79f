package org.moe4j.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/** The first use of the library, from sixteen threads at once, each time in a JVM of its own. */
final class StartRaceTest {
    private static final List<String> BACKENDS = List.of("vector", "nd4j", "best");

    private static void race(int repeats) throws IOException, InterruptedException {
        for (int i = 0; i < repeats; i++) {
            String printed = ChildJvm.run(
                    Duration.ofMinutes(2),
                    List.of("--add-modules", "jdk.incubator.vector"),
                    StartRaceProgram.class,
                    BACKENDS.get(i % BACKENDS.size()));
            assertThat(printed).contains("ended, 16 of 16 right");
        }
        Promise.measured(23, "first use from 16 threads at once", "0 wrong of " + repeats + " starts");
    }

    @Test
    void threadsThatStartTogetherGetTheSameBits() throws IOException, InterruptedException {
        race(BACKENDS.size());
    }

    @Tag("soak")
    @Test
    void threadsThatStartTogetherManyTimesGetTheSameBits() throws IOException, InterruptedException {
        race(100);
    }
}
