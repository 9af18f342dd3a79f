package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the README promises is true: its example compiles and runs as it stands, and its two commands are there. */
class ReadmeExampleTest {
    @TempDir
    Path folder;

    @Test
    void theExampleCompilesAndRuns() throws Exception {
        try (JavaBlocks readme = JavaBlocks.compile("README.md", folder)) {
            assertThat(readme.names()).containsExactly("Example");
            List<String> words = readme.run("Example").get(0);
            assertThat(Double.parseDouble(words.get(0))).isFinite().isNotZero();
            assertThat(words.get(1)).isEqualTo("256"); // F of the scaled preset: the gate projection is (F×D)
        }
    }

    @Test
    void theTwoCommandsAreThoseThatCiRuns() throws IOException {
        String readme = Files.readString(Path.of("..", "README.md"));
        List<String> ci = Files.readAllLines(Path.of("..", ".ci", "run"));
        for (String command : List.of("mvn -B -ntp verify", "./moe study merge-scale --quick")) {
            assertThat(readme).contains(command);
            assertThat(ci).anyMatch(line -> line.trim().equals(command));
        }
    }
}
