package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.run.Explanation;
import org.moe4j.bench.run.LayerChanges;
import org.moe4j.checkpoint.safetensors.ElementType;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
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

    @Parameters(paramLabel = "CHECKPOINT", description = "Folder with config.json and safetensors files.")
    private Path checkpoint = Path.of("");

    @Option(names = "--layer", required = true, paramLabel = "N", description = "Index of an MoE layer, from 0.")
    private int layer;

    @Option(
            names = "--input",
            required = true,
            paramLabel = "FILE",
            description = "Safetensors file with hidden_states, as for 'moe run'.")
    private Path input = Path.of("");

    @Option(names = "--token", paramLabel = "T", description = "Row of hidden_states (default: 0).")
    private int token;

    @Option(
            names = "--backend",
            paramLabel = "vector|nd4j|reference",
            converter = BackendChoice.Converter.class,
            defaultValue = "nd4j",
            description = "Where the layer runs (default: ${DEFAULT-VALUE}).")
    private BackendChoice backend = BackendChoice.ND4J;

    @Option(
            names = "--dtype",
            paramLabel = "float32|float64",
            converter = RunCommand.TypeConverter.class,
            defaultValue = "float32",
            description = "In which precision it runs (default: ${DEFAULT-VALUE}).")
    private ElementType type = ElementType.F32;

    @Option(
            names = "--residual",
            description =
                    "The block around the layer: hidden_states + MoE(RMSNorm(hidden_states)), or as the family has it.")
    private boolean residual;

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
        RequiredPath.check(spec, "CHECKPOINT", checkpoint);
        RequiredPath.check(spec, "--input", input);
        OptionalInt kept = keep == null ? OptionalInt.empty() : OptionalInt.of(keep);
        Explanation.Outcome outcome = new Explanation(
                        checkpoint,
                        layer,
                        input,
                        token,
                        type == ElementType.F32 ? backend.single() : backend.precise(),
                        type,
                        residual,
                        new LayerChanges(without, kept, topK, withoutShared))
                .run();
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
}
