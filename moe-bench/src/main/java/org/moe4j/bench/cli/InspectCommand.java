package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.moe4j.router.analysis.bill.Roofline;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code moe inspect}: what a published model consists of. */
@Command(
        name = "inspect",
        description = {
            "Says what an MoE model consists of: family, layers, sizes, every setting of router and merge, parameters by what"
                    + " they are for and how many of them work on one token, bytes, the bills of memory and arithmetic, and"
                    + " what the merge predicts at initialization.",
            "Counts come from the headers of the files; where there are none, by formulas from config.json."
        })
final class InspectCommand implements Callable<Integer> {
    private static final double GIGA = 1e9;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "PATH", description = "A checkpoint's folder, or a config.json.")
    private Path path = Path.of("");

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of tables.")
    private boolean json;

    @Option(
            names = "--tokens",
            paramLabel = "LIST",
            hideParamSyntax = true,
            split = ",",
            description = "How many operations and bytes such numbers of tokens ask of one MoE layer, as 1,8,256.")
    private List<Long> tokens = List.of();

    @Option(
            names = "--bandwidth",
            paramLabel = "GB/s",
            description =
                    "Of the memory that holds the weights, with --tokens and --peak: which of both bounds the time.")
    private Optional<Double> bandwidth = Optional.empty();

    @Option(names = "--peak", paramLabel = "GFLOP/s", description = "Most operations, with --tokens and --bandwidth.")
    private Optional<Double> peak = Optional.empty();

    @Override
    public Integer call() throws IOException {
        RequiredPath.check(spec, "PATH", path);
        Optional<Roofline> machine = machine();
        Inspection inspection = Inspection.of(path);
        Optional<InspectRoofline> roofline =
                tokens.isEmpty() ? Optional.empty() : Optional.of(InspectRoofline.of(inspection, tokens, machine));
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ObjectNode root = InspectJson.of(inspection);
            roofline.ifPresent(table -> root.set("roofline", table.json()));
            out.println(InspectJson.text(root));
        } else {
            out.print(InspectText.of(inspection));
            roofline.ifPresent(table -> out.print("\n" + table.text()));
        }
        out.flush();
        return 0;
    }

    private Optional<Roofline> machine() {
        if (tokens.stream().anyMatch(count -> count < 0)) {
            throw wrong("--tokens: expected numbers of at least 0 but was " + tokens);
        }
        if (bandwidth.isPresent() != peak.isPresent() || (bandwidth.isPresent() && tokens.isEmpty())) {
            throw wrong("--bandwidth: expected --tokens, --bandwidth and --peak together");
        }
        try {
            return bandwidth.map(rate -> new Roofline(peak.orElseThrow() * GIGA, rate * GIGA));
        } catch (IllegalArgumentException fault) {
            throw wrong("--bandwidth and --peak: " + fault.getMessage());
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }
}
