package org.moe4j.bench.run;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.moe4j.bench.support.OutputFile;
import org.moe4j.bench.support.Progress;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.block.MoeBlock;
import org.moe4j.checkpoint.block.MoeBlockPass;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.router.TopKRouter;

/**
 * Runs one MoE layer of a checkpoint on activations from a file, forward and, where the file has a gradient, backward. All that can be
 * checked is checked before the weights are read, and the output is written whole or not at all.
 *
 * @param checkpoint folder of the model
 * @param layer index of an MoE layer
 * @param input safetensors file with {@code hidden_states} ([T, D] or [B, S, D]), and {@code d_output} for gradients
 * @param output safetensors file to be written
 * @param backend runs the layer
 * @param type F32 or F64, of all results
 * @param residual whether the norms and the residual around the layer take part
 * @param withLosses whether the losses that the configuration names take part in the gradients
 */
public record LayerRun(
        Path checkpoint,
        int layer,
        Path input,
        Path output,
        Backend backend,
        ElementType type,
        boolean residual,
        boolean withLosses) {
    /** Steps of a progress bar beside those of the experts: the input, the results, the output. */
    private static final int STEPS = 3;

    /**
     * What is to be told of a run.
     *
     * @param losses of the router by name, each multiplied by its coefficient; empty where none took part
     * @param unused what is said of tensors of the input that have no meaning
     */
    public record Outcome(Map<String, Double> losses, List<String> unused) {}

    /**
     * Reads, runs and writes, behind a progress bar where standard error is a terminal.
     *
     * @return what is to be told of it
     * @throws IOException when a file cannot be read or written, or is broken
     * @throws IllegalArgumentException when checkpoint, layer or input are not what they have to be
     */
    public Outcome run() throws IOException {
        OutputFile.requireWritable("--output", output);
        try (MoeCheckpoint model = MoeCheckpoint.open(checkpoint)) {
            model.requireMoe(layer);
            requireOwnFile();
            ExpertShape routed = ExpertShape.routed(model.preset());
            int width = ExpertShape.tokenWidth(model.preset());
            try (Progress progress = Progress.start("layer " + layer, routed.count() + STEPS);
                    LayerInput given = LayerInput.read(input, width, backend, type)) {
                progress.step();
                try (LayerResults results = results(model, given, progress::step)) {
                    progress.step();
                    write(model, given, results);
                    progress.step();
                    return new Outcome(results.losses(), given.unused());
                }
            }
        }
    }

    /** What is read may not be written. */
    private void requireOwnFile() throws IOException {
        if (!Files.exists(output, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        if (Files.exists(input) && Files.exists(output) && Files.isSameFile(input, output)) {
            throw new IOException("--output: expected another file than that of --input but was " + output);
        }
        if (isOfCheckpoint()) {
            throw new IOException("--output: expected a file that is not in the checkpoint yet but was " + output);
        }
    }

    /** Whether it is a name in the checkpoint's folder, or what one of them links to. */
    private boolean isOfCheckpoint() throws IOException {
        Path folder = output.toAbsolutePath().getParent();
        if (folder != null && Files.isSameFile(folder, checkpoint)) {
            return true;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(checkpoint, Files::exists)) {
            for (Path file : files) {
                if (Files.exists(output) && Files.isSameFile(file, output)) {
                    return true;
                }
            }
        }
        return false;
    }

    private LayerResults results(MoeCheckpoint model, LayerInput given, Runnable expertRead) throws IOException {
        if (residual) {
            try (MoeBlock read = model.block(layer, backend, expertRead);
                    MoeLayer used = withLosses(model, read.layer())) {
                MoeBlock block = read.withLayer(used);
                try (MoeBlockPass pass = block.forward(given.tokens(), given.context())) {
                    return LayerResults.of(pass.layerPass(), pass.output(), pass::backward, given.dOutput());
                }
            }
        }
        try (MoeLayer read = model.layer(layer, backend, expertRead);
                MoeLayer used = withLosses(model, read)) {
            try (MoePass pass = used.forward(given.tokens(), given.context())) {
                return LayerResults.of(pass, pass.output(), pass::backward, given.dOutput());
            }
        }
    }

    /** The layer with the losses that its configuration names, if they are wanted. */
    private MoeLayer withLosses(MoeCheckpoint model, MoeLayer read) {
        if (!withLosses) {
            return read;
        }
        try (Unfinished made = new Unfinished()) {
            TopKRouter router = made.add(((TopKRouter) read.router()).withLosses(model.losses()));
            MoeLayer with = read.withRouter(router);
            made.keep();
            return with;
        }
    }

    private void write(MoeCheckpoint model, LayerInput given, LayerResults results) throws IOException {
        List<TensorContent> contents = new ArrayList<>(results.contents(given.shape(), type));
        if (results.gradients().isPresent()) {
            Gradients gradients = results.gradients().get();
            contents.addAll(model.contents(layer, "grad.", type, gradients.parameters()));
        }
        try {
            SafetensorsWriter.write(
                    output, contents.stream().map(LayerRun::finite).toList(), Map.of());
        } catch (IOException e) {
            throw new IOException(
                    "--output: expected a file that can be written but was " + output + " (" + e.getMessage() + ")", e);
        }
    }

    /** Finite numbers may give others, as a product that is too large: that is no result. */
    private static TensorContent finite(TensorContent tensor) {
        if (tensor.type() == ElementType.I64) {
            return tensor;
        }
        return new TensorContent(tensor.name(), tensor.type(), tensor.shape(), (from, count, into) -> {
            int begin = into.position();
            tensor.source().write(from, count, into);
            for (int i = 0; i < count; i++) {
                int at = begin + i * tensor.type().bytes();
                double number = tensor.type() == ElementType.F32 ? into.getFloat(at) : into.getDouble(at);
                if (!Double.isFinite(number)) {
                    throw new ArithmeticException("--output: " + tensor.name() + ": expected finite results but number "
                            + (from + i) + " is " + number + "; input and weights are too large for " + tensor.type());
                }
            }
        });
    }
}
