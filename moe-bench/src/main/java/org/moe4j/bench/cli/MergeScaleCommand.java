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
import org.moe4j.bench.support.Progress;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
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
        StudyFiles folder = StudyFiles.open(spec.commandLine(), Optional.ofNullable(out));
        MergeScaleResult result = run(settings());
        List<Path> files = folder.write(
                NAME,
                MergeScalePage.csv(result),
                MergeScalePage.markdown(result, NAME + ".svg"),
                MergeScalePicture.of(result));
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
        StudyFiles.failOn(result.disagreement());
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
        try (Progress progress = Progress.start(NAME, settings.steps())) {
            return MergeScaleStudy.run(settings, backend.single(), backend.precise(), progress::step);
        }
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
}
