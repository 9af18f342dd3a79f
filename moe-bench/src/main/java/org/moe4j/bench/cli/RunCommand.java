package org.moe4j.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.moe4j.bench.run.LayerRun;
import org.moe4j.checkpoint.safetensors.ElementType;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code moe run}: one MoE layer of a checkpoint on given activations. */
@Command(
        name = "run",
        description = {
            "Runs one MoE layer of a checkpoint on the activations of a safetensors file.",
            "Reads hidden_states ([T, D] or [B, S, D]) and, for gradients, d_output of the same shape; F64, F32, F16 or"
                    + " BF16.",
            "Writes output; router_logits [T, E]; topk_index and topk_weight [T, K]; with d_output also d_hidden_states"
                    + " and grad.NAME for each tensor NAME of the layer, of the loss sum(output * d_output)."
        })
final class RunCommand implements Callable<Integer> {
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
            description = "Safetensors file with hidden_states.")
    private Path input = Path.of("");

    @Option(
            names = "--output",
            required = true,
            paramLabel = "FILE",
            description = "Safetensors file to be written, whole or not at all; an old one is replaced.")
    private Path output = Path.of("");

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
            converter = TypeConverter.class,
            defaultValue = "float32",
            description = "In which precision it runs, and of which type all results are (default: ${DEFAULT-VALUE}).")
    private ElementType type = ElementType.F32;

    @Option(
            names = "--residual",
            description =
                    "The block around the layer: hidden_states + MoE(RMSNorm(hidden_states)), or as the family has it.")
    private boolean residual;

    @Option(
            names = "--with-losses",
            description =
                    "The losses of the router that config.json names take part in the gradients, and are printed.")
    private boolean withLosses;

    @Override
    public Integer call() throws IOException {
        RequiredPath.check(spec, "CHECKPOINT", checkpoint);
        RequiredPath.check(spec, "--input", input);
        RequiredPath.check(spec, "--output", output);
        LayerRun run = new LayerRun(
                checkpoint,
                layer,
                input,
                output,
                type == ElementType.F32 ? backend.single() : backend.precise(),
                type,
                residual,
                withLosses);
        LayerRun.Outcome outcome = run.run();
        warn(outcome.unused());
        PrintWriter out = spec.commandLine().getOut();
        if (withLosses) {
            print(outcome.losses(), out);
        }
        out.println("Wrote " + output);
        out.flush();
        return 0;
    }

    private void warn(List<String> unused) {
        PrintWriter err = spec.commandLine().getErr();
        unused.forEach(line -> err.println("moe: " + Moe.line(line)));
        err.flush();
    }

    private static void print(Map<String, Double> losses, PrintWriter out) {
        if (losses.isEmpty()) {
            out.println("auxiliary loss: 0.0 (config.json names none)");
            return;
        }
        double sum = losses.values().stream().mapToDouble(value -> value).sum();
        out.println("auxiliary loss: " + sum + " (" + String.join(", ", losses.keySet()) + ")");
    }

    /** Reads the option {@code --dtype}. */
    static final class TypeConverter implements ITypeConverter<ElementType> {
        @Override
        public ElementType convert(String value) {
            return switch (value) {
                case "float32" -> ElementType.F32;
                case "float64" -> ElementType.F64;
                default -> throw new TypeConversionException("expected float32 or float64 but was " + value);
            };
        }
    }
}
