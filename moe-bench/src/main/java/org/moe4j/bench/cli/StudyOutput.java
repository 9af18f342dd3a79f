package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.support.Figure;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Table;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What all studies share on the command line: where the files go, and in which form the facts are printed. */
final class StudyOutput {
    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Folder for the files (default: moe-bench/target/studies).")
    private @Nullable Path out;

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of the table.")
    private boolean json;

    /** The facts as JSON, beside what all studies say: their name, whether what they show holds, and the files. */
    interface Facts {
        void put(ObjectNode root);
    }

    /**
     * A study that ran.
     *
     * @param csv all numbers
     * @param page in Markdown, showing the picture {@code name.svg}
     * @param picture as a figure
     * @param table what is printed
     * @param verdict what is printed below it
     * @param json the same facts as members of a JSON object
     * @param shortfall where its numbers are not what they have to be
     */
    record Report(
            Table csv,
            String page,
            Figure picture,
            Table table,
            String verdict,
            Facts json,
            Optional<String> shortfall) {}

    /** Opens the folder before the work, so that a wrong one is found in time. */
    OutputFolder open() throws IOException {
        if (out != null && out.toString().isEmpty()) {
            throw new ParameterException(spec.commandLine(), "--out: expected a folder but was empty");
        }
        return OutputFolder.open(out == null ? defaultFolder() : out);
    }

    /** Below the repository when the launcher names it in {@code moe.home}, else below the current folder. */
    static Path defaultFolder() {
        return Path.of(System.getProperty("moe.home", ""), "moe-bench", "target", "studies");
    }

    /** Writes {@code name.csv}, {@code .md}, {@code .svg} and {@code .png}, prints the facts, and fails on a shortfall. */
    int report(OutputFolder folder, String name, Report report) throws IOException {
        List<Path> files = ResultFiles.write(folder, name, report.csv(), report.page(), report.picture());
        PrintWriter writer = spec.commandLine().getOut();
        if (json) {
            writer.println(json(name, report, files));
        } else {
            writer.print(report.table().aligned());
            writer.println();
            writer.println(report.verdict());
            files.forEach(file -> writer.println("Wrote " + file));
        }
        writer.flush();
        if (report.shortfall().isPresent()) {
            throw new StudyFellShort(report.shortfall().get());
        }
        return 0;
    }

    private static String json(String name, Report report, List<Path> files) throws IOException {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.put("study", name);
        report.json().put(root);
        root.put("holds", report.shortfall().isEmpty());
        root.put("shortfall", report.shortfall().orElse(null));
        ArrayNode written = root.putArray("files");
        files.forEach(file -> written.add(file.toString()));
        return new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValueAsString(root);
    }

    /** Becomes an exit status of 1 and one line. */
    private static final class StudyFellShort extends RuntimeException {
        private static final long serialVersionUID = 1;

        StudyFellShort(String message) {
            super(message);
        }
    }
}
