package org.moe4j.core.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.testing.ChildJvm;

class LeftoverTest {
    @TempDir
    private Path folder;

    @Test
    void whatWasNotMovedIsDeleted() throws IOException {
        Path file = folder.resolve("file");
        try (Leftover leftover = new Leftover(file)) {
            Files.createFile(leftover.path());
        }
        Path inside = folder.resolve("folder");
        try (Leftover leftover = new Leftover(inside)) {
            Files.createFile(Files.createDirectory(leftover.path()).resolve("file"));
        }
        Path kept = folder.resolve("kept");
        try (Leftover leftover = new Leftover(folder.resolve("moved"))) {
            Files.move(Files.createFile(leftover.path()), kept);
        }
        assertThat(folder.toFile().list()).containsExactly("kept");
    }

    @Test
    void anInterruptLeavesNothingBehind() throws IOException, InterruptedException {
        String printed = ChildJvm.run(Duration.ofMinutes(2), List.of(), LeftoverProbe.class, folder.toString());
        assertThat(printed).isEmpty();
        assertThat(folder).isEmptyDirectory();
    }
}
