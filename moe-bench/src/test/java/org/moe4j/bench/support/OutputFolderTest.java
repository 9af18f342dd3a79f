package org.moe4j.bench.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class OutputFolderTest {
    @TempDir
    Path temporary;

    @Test
    void makesTheFolderAndLeavesNothingElseInIt() throws IOException {
        Path path = temporary.resolve("a/b");
        OutputFolder folder = OutputFolder.open(path);
        assertThat(names(path)).isEmpty();
        assertThat(folder.write("x.txt", "één"))
                .isEqualTo(path.resolve("x.txt"))
                .hasContent("één");
        assertThat(names(path)).containsExactly("x.txt");
    }

    @Test
    void replacesAFile() throws IOException {
        OutputFolder folder = OutputFolder.open(temporary);
        folder.write("x.txt", "a long old text");
        folder.write("x.txt", "new");
        assertThat(temporary.resolve("x.txt")).hasContent("new");
        assertThat(names(temporary)).containsExactly("x.txt");
    }

    /** Whoever has the old file open goes on reading the old file: it was replaced, not written over. */
    @Test
    void aReaderOfTheOldFileNeverSeesHalfOfTheNewOne() throws IOException {
        OutputFolder folder = OutputFolder.open(temporary);
        Path file = folder.write("x.txt", "old");
        try (var reader = Files.newBufferedReader(file)) {
            folder.write("x.txt", "new and longer");
            assertThat(reader.readLine()).isEqualTo("old");
        }
    }

    @Test
    void whenAFileCannotBeWrittenTheOldOneStaysAndNothingIsLeftBehind() throws IOException {
        OutputFolder folder = OutputFolder.open(temporary);
        Files.createDirectories(temporary.resolve("x.txt/in the way"));
        assertThatThrownBy(() -> folder.write("x.txt", "new"))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith(
                        temporary.resolve("x.txt") + ": expected a file that can be written but was not");
        assertThat(names(temporary)).containsExactly("x.txt");
    }

    @Test
    void aFileInTheWayIsNamed() throws IOException {
        Path file = Files.writeString(temporary.resolve("file"), "");
        for (Path path : List.of(file, file.resolve("below"))) {
            assertThatThrownBy(() -> OutputFolder.open(path))
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith("--out: expected a folder that can be written but was " + path);
        }
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }
}
