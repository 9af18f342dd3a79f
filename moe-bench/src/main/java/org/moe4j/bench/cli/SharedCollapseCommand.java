package org.moe4j.bench.cli;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import org.moe4j.bench.study.collapse.CollapsePage;
import org.moe4j.bench.study.collapse.CollapsePicture;
import org.moe4j.bench.study.collapse.CollapseResult;
import org.moe4j.bench.study.collapse.CollapseSettings;
import org.moe4j.bench.study.collapse.CollapseStudy;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Progress;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code moe study shared-collapse}: several shared experts beside one wider one. */
@Command(
        name = "shared-collapse",
        description = {
            "Are several ungated shared experts one wider shared expert, exactly where does that end, and do both forms train"
                    + " alike? Compares the outputs of both forms in single and double precision, and trains both with"
                    + " several optimizers.",
            "Prints what has to hold beside what was measured; writes shared-collapse.csv, .md, .svg and .png. The exit"
                    + " status is 1 when a claim does not hold."
        })
final class SharedCollapseCommand implements Callable<Integer> {
    private static final String NAME = "shared-collapse";

    @Option(names = "--quick", description = "The size of the report's figure alone, without that of its study.")
    private boolean quick;

    @Option(
            names = "--backend",
            paramLabel = "vector|nd4j|reference",
            converter = BackendChoice.Converter.class,
            defaultValue = "nd4j",
            description =
                    "Where the layers learn, in double precision (default: ${DEFAULT-VALUE}). Outputs are always compared"
                            + " on all backends.")
    private BackendChoice backend = BackendChoice.ND4J;

    @Mixin
    private StudyOutput output = new StudyOutput();

    @Override
    public Integer call() throws IOException {
        OutputFolder folder = output.open();
        CollapseResult result = run(quick ? CollapseSettings.quick() : CollapseSettings.full());
        return output.report(
                folder,
                NAME,
                new StudyOutput.Report(
                        CollapsePage.csv(result),
                        CollapsePage.markdown(result, NAME + ".svg"),
                        CollapsePicture.of(result),
                        CollapsePage.table(result),
                        CollapsePage.verdict(result),
                        root -> SharedCollapseJson.put(result, root),
                        result.shortfall()));
    }

    private CollapseResult run(CollapseSettings settings) {
        List<Backend> backends = List.of(Nd4jBackend.float32(), Nd4jBackend.float64(), ReferenceBackend.instance());
        try (Progress progress = Progress.start(NAME, CollapseStudy.measurements(settings, backends.size()))) {
            return CollapseStudy.run(settings, backends, backend.precise(), progress::step);
        }
    }
}
