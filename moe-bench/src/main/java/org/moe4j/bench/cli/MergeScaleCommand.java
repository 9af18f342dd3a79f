package org.moe4j.bench.cli;

import java.io.IOException;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.study.mergescale.MergeScalePage;
import org.moe4j.bench.study.mergescale.MergeScalePicture;
import org.moe4j.bench.study.mergescale.MergeScaleResult;
import org.moe4j.bench.study.mergescale.MergeScaleSettings;
import org.moe4j.bench.study.mergescale.MergeScaleStudy;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Progress;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
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
            paramLabel = "vector|nd4j|reference",
            converter = BackendChoice.Converter.class,
            defaultValue = "nd4j",
            description =
                    "Where the layers run (default: ${DEFAULT-VALUE}). The reference is slow: use it with --quick.")
    private BackendChoice backend = BackendChoice.ND4J;

    @Mixin
    private StudyOutput output = new StudyOutput();

    @Override
    public Integer call() throws IOException {
        OutputFolder folder = output.open();
        MergeScaleResult result = run(settings());
        return output.report(
                folder,
                NAME,
                new StudyOutput.Report(
                        MergeScalePage.csv(result),
                        MergeScalePage.markdown(result, NAME + ".svg"),
                        MergeScalePicture.of(result),
                        MergeScalePage.table(result),
                        MergeScalePage.verdict(result),
                        root -> MergeScaleJson.put(result, root),
                        result.disagreement()));
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
