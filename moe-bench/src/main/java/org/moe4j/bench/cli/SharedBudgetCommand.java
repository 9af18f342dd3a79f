package org.moe4j.bench.cli;

import java.io.IOException;
import java.util.concurrent.Callable;
import org.moe4j.bench.study.budget.BudgetPage;
import org.moe4j.bench.study.budget.BudgetPicture;
import org.moe4j.bench.study.budget.BudgetResult;
import org.moe4j.bench.study.budget.BudgetSettings;
import org.moe4j.bench.study.budget.BudgetStudy;
import org.moe4j.bench.study.budget.PathTimes;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Progress;
import org.moe4j.core.backend.Backend;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code moe study shared-budget}: a shared expert on top of the routed budget, out of it, and none. */
@Command(
        name = "shared-budget",
        description = {
            "What does a shared expert change at equal tokens and an equal training objective? Trains students without one, with"
                    + " one on top of the routed experts, and with one taken out of their budget.",
            "Prints parameters, arithmetic, rows, scale, loss, specialization, what is left without a branch, and times by path,"
                    + " which are indicative; writes shared-budget.csv, .md, .svg and .png, without times. The exit status is 1"
                    + " when parameters, arithmetic, rows or scale are not what they have to be; what is learned is measured,"
                    + " not demanded."
        })
final class SharedBudgetCommand implements Callable<Integer> {
    private static final String NAME = "shared-budget";

    @Option(names = "--quick", description = "One seed instead of five.")
    private boolean quick;

    @Mixin
    private PreciseBackend backend = new PreciseBackend();

    @Mixin
    private StudyOutput output = new StudyOutput();

    @Override
    public Integer call() throws IOException {
        OutputFolder folder = output.open();
        Backend precise = backend.chosen();
        BudgetResult result = run(quick ? BudgetSettings.quick() : BudgetSettings.full(), precise);
        PathTimes times = PathTimes.measure(precise);
        return output.report(
                folder,
                NAME,
                new StudyOutput.Report(
                        BudgetPage.csv(result),
                        BudgetPage.markdown(result, NAME + ".svg"),
                        BudgetPicture.of(result),
                        BudgetPage.table(result),
                        BudgetPage.below(result, times),
                        root -> SharedBudgetJson.put(result, times, root),
                        result.shortfall()));
    }

    private static BudgetResult run(BudgetSettings settings, Backend backend) {
        try (Progress progress = Progress.start(NAME, settings.measurements())) {
            return BudgetStudy.run(settings, backend, progress::step);
        }
    }
}
