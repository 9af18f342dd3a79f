package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.testing.ChildJvm;

/** A JVM that was started without the module says so where the vector backend is asked for by name, and what to add. */
class WithoutVectorModuleTest {
    private static final String MISSES =
            ": expected a JVM with the module jdk.incubator.vector but was one without; start it with --add-modules jdk.incubator.vector";

    @Test
    void theErrorSaysWhatToAdd(@TempDir Path folder) throws IOException, InterruptedException {
        Path out = folder.resolve("out");
        String printed = ChildJvm.run(
                Duration.ofMinutes(2),
                List.of(),
                WithoutVectorModule.class,
                "study",
                "balancing",
                "--quick",
                "--backend",
                "vector",
                "--out",
                out.toString());
        assertThat(printed.lines())
                .contains("available false", "class backend" + MISSES, "moe: vector" + MISSES, "status 1");
        assertThat(out).isEmptyDirectory();
    }
}
