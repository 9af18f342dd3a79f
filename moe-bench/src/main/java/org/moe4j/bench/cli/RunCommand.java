package org.moe4j.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.moe4j.bench.run.LayerRun;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

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

    @Mixin
    private LayerArguments given = new LayerArguments();

    @Option(
            names = "--output",
            required = true,
            paramLabel = "FILE",
            description = "Safetensors file to be written, whole or not at all; an old one is replaced.")
    private Path output = Path.of("");

    @Option(
            names = "--with-losses",
            description =
                    "The losses of the router that config.json names take part in the gradients, and are printed.")
    private boolean withLosses;

    @Override
    public Integer call() throws IOException {
        given.check(spec);
        RequiredPath.check(spec, "--output", output);
        LayerRun run = new LayerRun(
                given.checkpoint(),
                given.layer(),
                given.input(),
                output,
                given.backend(),
                given.type(),
                given.residual(),
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
}
