package org.moe4j.bench.cli;

import java.io.IOException;
import java.util.concurrent.Callable;
import org.moe4j.bench.study.balancing.BalancingPage;
import org.moe4j.bench.study.balancing.BalancingPicture;
import org.moe4j.bench.study.balancing.BalancingResult;
import org.moe4j.bench.study.balancing.BalancingSettings;
import org.moe4j.bench.study.balancing.BalancingStudy;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Progress;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code moe study balancing}: training from an uneven start, balanced in two ways and not at all. */
@Command(
        name = "balancing",
        description = {
            "Does a layer learn a teacher's mixture when its router starts by favouring two experts, and what does balancing"
                    + " cost? Trains without balancing, with a load-balancing loss, and with a selection bias.",
            "Prints load and loss at the start and at the end; writes balancing.csv, .md, .svg and .png. The exit status is"
                    + " 1 when a balanced student keeps more than half of the start's imbalance or ends more than 5 %% above"
                    + " its teacher's loss."
        })
final class BalancingCommand implements Callable<Integer> {
    private static final String NAME = "balancing";

    @Option(names = "--quick", description = "One seed instead of three.")
    private boolean quick;

    @Mixin
    private PreciseBackend backend = new PreciseBackend();

    @Mixin
    private StudyOutput output = new StudyOutput();

    @Override
    public Integer call() throws IOException {
        OutputFolder folder = output.open();
        BalancingResult result = run(quick ? BalancingSettings.quick() : BalancingSettings.full());
        return output.report(
                folder,
                NAME,
                new StudyOutput.Report(
                        BalancingPage.csv(result),
                        BalancingPage.markdown(result, NAME + ".svg"),
                        BalancingPicture.of(result),
                        BalancingPage.table(result),
                        BalancingPage.verdict(result),
                        root -> BalancingJson.put(result, root),
                        result.shortfall()));
    }

    private BalancingResult run(BalancingSettings settings) {
        try (Progress progress = Progress.start(NAME, settings.measurements())) {
            return BalancingStudy.run(settings, backend.chosen(), progress::step);
        }
    }
}
