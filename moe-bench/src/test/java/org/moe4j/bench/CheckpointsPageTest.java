package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.layout.Layout;

/** The program of docs/checkpoints.md compiles as it stands and runs, and the page names every layout. */
class CheckpointsPageTest {
    private static final Path FIXTURES = Path.of("..", "moe-checkpoint", "src", "test", "resources", "fixtures");

    @TempDir
    private Path classes;

    /** Of OLMoE in miniature: eight experts of three matrices, the router, and the norm before the layer. */
    @Test
    void theProgramReadsALayerAndRunsItsBlock() throws IOException, ReflectiveOperationException {
        try (JavaBlocks page = JavaBlocks.compile("docs/checkpoints.md", classes)) {
            List<List<String>> lines =
                    page.run("ReadLayer", FIXTURES.resolve("olmoe").toString());
            assertThat(lines.get(0).get(0)).startsWith("MoeLayer");
            assertThat(lines.get(2)).containsExactly("gradients", "26");
        }
    }

    @Test
    void everyLayoutHasItsRow() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "checkpoints.md"));
        for (String name : Layout.names()) {
            assertThat(page).contains("| `" + name + "` |");
            if (!name.equals("gpt-oss-original")) {
                for (String type : Layout.named(name).modelTypes()) {
                    assertThat(page).contains("`" + type + "`");
                }
            }
        }
    }
}
