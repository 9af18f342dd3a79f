package org.moe4j.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code moe inspect}: what a published model consists of. */
@Command(
        name = "inspect",
        description = {
            "Says what an MoE model consists of: family, layers, sizes, every setting of router and merge, parameters by what"
                    + " they are for and how many of them work on one token, bytes, and what the merge predicts at"
                    + " initialization.",
            "Counts come from the headers of the files; where there are none, by formulas from config.json."
        })
final class InspectCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "PATH", description = "A checkpoint's folder, or a config.json.")
    private Path path = Path.of("");

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of tables.")
    private boolean json;

    @Override
    public Integer call() throws IOException {
        RequiredPath.check(spec, "PATH", path);
        Inspection inspection = Inspection.of(path);
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(InspectJson.text(inspection));
        } else {
            out.print(InspectText.of(inspection));
        }
        out.flush();
        return 0;
    }
}
