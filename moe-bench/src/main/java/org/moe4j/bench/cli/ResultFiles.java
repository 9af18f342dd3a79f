package org.moe4j.bench.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.moe4j.bench.support.Figure;
import org.moe4j.bench.support.FigureFiles;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Table;

/** What a study or a measurement leaves in a folder. */
final class ResultFiles {
    private ResultFiles() {}

    /** Writes {@code name.csv}, {@code .md}, {@code .svg} and {@code .png}. */
    static List<Path> write(OutputFolder folder, String name, Table csv, String page, Figure picture)
            throws IOException {
        // all made before the first is written, so that an interruption hardly ever leaves new files beside old ones
        String numbers = csv.csv();
        String drawing = FigureFiles.svg(picture);
        byte[] image = FigureFiles.png(picture);
        return List.of(
                folder.write(name + ".csv", numbers),
                folder.write(name + ".md", page),
                folder.write(name + ".svg", drawing),
                folder.write(name + ".png", image));
    }
}
