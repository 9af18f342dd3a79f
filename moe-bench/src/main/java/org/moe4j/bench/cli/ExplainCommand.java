package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.run.Explanation;
import org.moe4j.bench.run.LayerChanges;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code moe explain}: one token through one MoE layer of a checkpoint, piece by piece. */
@Command(
        name = "explain",
        description = {
            "Takes one token through one MoE layer of a checkpoint, piece by piece: logits as plain dot products, scores,"
                    + " kept and discarded mass, what each expert proposes and adds, and their sum beside the layer's output.",
            "For all tokens: whether the precision of the router's product moves a choice, and how far the output moves"
                    + " when experts are masked, another number of them is chosen, or the shared ones are silenced.",
            "Where the input has d_output, who gets a gradient from the token."
        })
final class ExplainCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private LayerArguments given = new LayerArguments();

    @Option(names = "--token", paramLabel = "T", description = "Row of hidden_states (default: 0).")
    private int token;

    @Option(
            names = "--without",
            paramLabel = "E",
            split = ",",
            description = "Mask these experts, before the choice and after it.")
    private List<Integer> without = new ArrayList<>();

    @Option(
            names = "--keep",
            paramLabel = "N",
            description = "Mask all but the N experts that the tokens of the input use most.")
    private @Nullable Integer keep;

    @Option(names = "--top-k", paramLabel = "K", split = ",", description = "Choose so many experts for each token.")
    private List<Integer> topK = new ArrayList<>();

    @Option(names = "--without-shared", description = "Silence the shared experts.")
    private boolean withoutShared;

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of tables.")
    private boolean json;

    @Override
    public Integer call() throws IOException {
        given.check(spec);
        Explanation.Outcome outcome = explained();
        PrintWriter err = spec.commandLine().getErr();
        outcome.unused().forEach(line -> err.println("moe: " + Moe.line(line)));
        err.flush();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(new ObjectMapper()
                    .enable(SerializationFeature.INDENT_OUTPUT)
                    .writeValueAsString(outcome.report().json()));
        } else {
            out.print(outcome.report().text());
        }
        out.flush();
        return 0;
    }

    /** An option that does not fit the layer or the input is wrong usage. */
    private Explanation.Outcome explained() throws IOException {
        OptionalInt kept = keep == null ? OptionalInt.empty() : OptionalInt.of(keep);
        Explanation explanation = new Explanation(
                given.checkpoint(),
                given.layer(),
                given.input(),
                token,
                given.backend(),
                given.type(),
                given.residual(),
                new LayerChanges(without, kept, topK, withoutShared));
        try {
            return explanation.run();
        } catch (IllegalArgumentException e) {
            if (String.valueOf(e.getMessage()).startsWith("--")) {
                throw new ParameterException(spec.commandLine(), e.getMessage(), e);
            }
            throw e;
        }
    }
}
