package org.moe4j.bench.cli;

import java.io.IOException;
import java.util.concurrent.Callable;
import org.moe4j.bench.study.reparameterization.ReparameterizationPage;
import org.moe4j.bench.study.reparameterization.ReparameterizationPicture;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult;
import org.moe4j.bench.study.reparameterization.ReparameterizationSettings;
import org.moe4j.bench.study.reparameterization.ReparameterizationStudy;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Progress;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code moe study reparameterization}: training after merge factors moved into the weights. */
@Command(
        name = "reparameterization",
        description = {
            "Which training settings follow a layer whose merge factors moved into its down projections? Trains a layer and"
                    + " the same function under three other merge conventions, by SGD, AdamW and Muon, with all settings"
                    + " mapped, with some, and with none.",
            "Prints the largest deviation from the original; writes reparameterization.csv, .md, .svg and .png. The exit"
                    + " status is 1 when a layer that should follow deviates by more than 1e-9, or at all where the factors"
                    + " are powers of two, or when one that should not stays within 1e-8."
        })
final class ReparameterizationCommand implements Callable<Integer> {
    private static final String NAME = "reparameterization";

    @Option(names = "--quick", description = "A fifth of the steps.")
    private boolean quick;

    @Mixin
    private PreciseBackend backend = new PreciseBackend();

    @Mixin
    private StudyOutput output = new StudyOutput();

    @Override
    public Integer call() throws IOException {
        OutputFolder folder = output.open();
        ReparameterizationResult result =
                run(quick ? ReparameterizationSettings.quick() : ReparameterizationSettings.full());
        return output.report(
                folder,
                NAME,
                new StudyOutput.Report(
                        ReparameterizationPage.csv(result),
                        ReparameterizationPage.markdown(result, NAME + ".svg"),
                        ReparameterizationPicture.of(result),
                        ReparameterizationPage.table(result),
                        ReparameterizationPage.verdict(result),
                        root -> ReparameterizationJson.put(result, root),
                        result.shortfall()));
    }

    private ReparameterizationResult run(ReparameterizationSettings settings) {
        try (Progress progress = Progress.start(NAME, settings.progress())) {
            return ReparameterizationStudy.run(settings, backend.chosen(), progress::step);
        }
    }
}
