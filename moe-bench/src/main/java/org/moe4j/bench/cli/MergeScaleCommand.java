package org.moe4j.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.study.MergeScalePage;
import org.moe4j.bench.study.MergeScalePicture;
import org.moe4j.bench.study.MergeScaleResult;
import org.moe4j.bench.study.MergeScaleSettings;
import org.moe4j.bench.study.MergeScaleStudy;
import org.moe4j.bench.support.BarFigure;
import org.moe4j.bench.support.FigureFiles;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Progress;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code moe study merge-scale}: Figure 70 again. */
@Command(
        name = "merge-scale",
        description = {
            "What a merge convention does to the scale of a fresh layer, forward and backward (Figure 70 of the report on"
                    + " Olmo's MoE recipe).",
            "Prints measured, predicted and published values; writes merge-scale.csv, .md, .svg and .png. The exit status"
                    + " is 1 when a mean is too far from the published one."
        })
final class MergeScaleCommand implements Callable<Integer> {
    private static final String NAME = "merge-scale";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(names = "--quick", description = "Small layer forward too, two seeds: seconds instead of a minute.")
    private boolean quick;

    @Option(
            names = "--forward",
            paramLabel = "full|surrogate",
            converter = ForwardConverter.class,
            description = "Layer of the forward half: the published sizes (default), or a tenth of them.")
    private @Nullable Forward forward;

    @Option(
            names = "--backend",
            paramLabel = "nd4j|reference",
            converter = BackendChoice.Converter.class,
            defaultValue = "nd4j",
            description =
                    "Where the layers run (default: ${DEFAULT-VALUE}). The reference is slow: use it with --quick.")
    private BackendChoice backend = BackendChoice.ND4J;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Folder for the files (default: moe-bench/target/studies).")
    private @Nullable Path out;

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of the table.")
    private boolean json;

    @Override
    public Integer call() throws IOException {
        if (out != null && out.toString().isEmpty()) {
            throw new ParameterException(spec.commandLine(), "--out: expected a folder but was empty");
        }
        OutputFolder folder = OutputFolder.open(out == null ? defaultFolder() : out);
        MergeScaleResult result = run(settings());
        List<Path> files = write(folder, result);
        PrintWriter writer = spec.commandLine().getOut();
        if (json) {
            writer.println(MergeScaleJson.text(result, files));
        } else {
            writer.print(MergeScalePage.table(result).aligned());
            writer.println();
            writer.println(MergeScalePage.verdict(result));
            files.forEach(file -> writer.println("Wrote " + file));
        }
        writer.flush();
        Optional<String> disagreement = result.disagreement();
        if (disagreement.isPresent()) {
            throw new StudyDisagrees(disagreement.get());
        }
        return 0;
    }

    private MergeScaleSettings settings() {
        MergeScaleSettings settings = quick ? MergeScaleSettings.quick() : MergeScaleSettings.published();
        if (forward == null) {
            return settings;
        }
        return forward == Forward.FULL ? settings.withFullForward() : settings.withSurrogateForward();
    }

    private MergeScaleResult run(MergeScaleSettings settings) {
        try (Progress progress = Progress.start("merge-scale", settings.steps())) {
            return MergeScaleStudy.run(settings, backend.single(), backend.precise(), progress::step);
        }
    }

    private static List<Path> write(OutputFolder folder, MergeScaleResult result) throws IOException {
        BarFigure figure = MergeScalePicture.of(result);
        // all made before the first is written, so that an interruption hardly ever leaves new files beside old ones
        String csv = MergeScalePage.csv(result).csv();
        String page = MergeScalePage.markdown(result, NAME + ".svg");
        String drawing = FigureFiles.svg(figure);
        byte[] image = FigureFiles.png(figure);
        return List.of(
                folder.write(NAME + ".csv", csv),
                folder.write(NAME + ".md", page),
                folder.write(NAME + ".svg", drawing),
                folder.write(NAME + ".png", image));
    }

    /** Below the repository when the launcher names it in {@code moe.home}, else below the current folder. */
    static Path defaultFolder() {
        return Path.of(System.getProperty("moe.home", ""), "moe-bench", "target", "studies");
    }

    /** Layer of the forward half. */
    private enum Forward {
        FULL,
        SURROGATE
    }

    /** Reads the option {@code --forward}. */
    static final class ForwardConverter implements ITypeConverter<Forward> {
        @Override
        public Forward convert(String value) {
            return switch (value.toLowerCase(Locale.ROOT)) {
                case "full" -> Forward.FULL;
                case "surrogate" -> Forward.SURROGATE;
                default -> throw new TypeConversionException("expected full or surrogate but was " + value);
            };
        }
    }

    /** The study ran, but its numbers are not the published ones. */
    private static final class StudyDisagrees extends RuntimeException {
        private static final long serialVersionUID = 1;

        StudyDisagrees(String message) {
            super(message);
        }
    }
}
