package org.moe4j.bench.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.moe4j.bench.support.Figure;
import org.moe4j.bench.support.FigureFiles;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Table;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** The four files of a study, and its verdict. */
final class StudyFiles {
    private final OutputFolder folder;

    private StudyFiles(OutputFolder folder) {
        this.folder = folder;
    }

    /** Opens the folder before the work, so that a wrong one is found in time. */
    static StudyFiles open(CommandLine commandLine, Optional<Path> out) throws IOException {
        if (out.isPresent() && out.get().toString().isEmpty()) {
            throw new ParameterException(commandLine, "--out: expected a folder but was empty");
        }
        return new StudyFiles(OutputFolder.open(out.orElseGet(StudyFiles::defaultFolder)));
    }

    /** Below the repository when the launcher names it in {@code moe.home}, else below the current folder. */
    static Path defaultFolder() {
        return Path.of(System.getProperty("moe.home", ""), "moe-bench", "target", "studies");
    }

    /** Writes {@code name.csv}, {@code .md}, {@code .svg} and {@code .png}. */
    List<Path> write(String name, Table table, String page, Figure figure) throws IOException {
        // all made before the first is written, so that an interruption hardly ever leaves new files beside old ones
        String csv = table.csv();
        String drawing = FigureFiles.svg(figure);
        byte[] image = FigureFiles.png(figure);
        return List.of(
                folder.write(name + ".csv", csv),
                folder.write(name + ".md", page),
                folder.write(name + ".svg", drawing),
                folder.write(name + ".png", image));
    }

    /** The study ran and was printed, but its numbers are not what they have to be. */
    static void failOn(Optional<String> shortfall) {
        if (shortfall.isPresent()) {
            throw new StudyFellShort(shortfall.get());
        }
    }

    /** Becomes an exit status of 1 and one line. */
    private static final class StudyFellShort extends RuntimeException {
        private static final long serialVersionUID = 1;

        StudyFellShort(String message) {
            super(message);
        }
    }
}
