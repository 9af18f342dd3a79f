package org.moe4j.bench.run;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.moe4j.bench.routing.Report;
import org.moe4j.bench.support.Progress;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.block.MoeBlock;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/**
 * One token through one MoE layer of a checkpoint, piece by piece, and what becomes of the layer's output when something is changed.
 *
 * @param checkpoint folder of the model
 * @param layer index of an MoE layer
 * @param input safetensors file with {@code hidden_states} ([T, D] or [B, S, D]), and {@code d_output} to see who gets a gradient
 * @param token row of the input
 * @param backend runs the layer
 * @param type F32 or F64, the backend's
 * @param residual whether the norms and the residual around the layer take part
 * @param changes what is changed
 */
public record Explanation(
        Path checkpoint,
        int layer,
        Path input,
        int token,
        Backend backend,
        ElementType type,
        boolean residual,
        LayerChanges changes) {
    /** Steps of a progress bar beside those of the experts: the input and the explanation. */
    private static final int STEPS = 2;

    /**
     * What was found.
     *
     * @param report tables
     * @param unused what is said of tensors of the input that have no meaning
     */
    public record Outcome(Report report, List<String> unused) {}

    /**
     * Reads and explains, behind a progress bar where standard error is a terminal.
     *
     * @return what was found
     * @throws IOException when a file cannot be read, or is broken
     * @throws IllegalArgumentException when checkpoint, layer, input or token are not what they have to be
     */
    public Outcome run() throws IOException {
        try (MoeCheckpoint model = MoeCheckpoint.open(checkpoint)) {
            model.requireMoe(layer);
            ExpertShape routed = ExpertShape.routed(model.preset());
            changes.requireFit(
                    routed.count(),
                    RouterConfig.from(model.preset()).topK(),
                    !ExpertShape.shared(model.preset()).isEmpty());
            int width = ExpertShape.tokenWidth(model.preset());
            try (Progress progress = Progress.start("layer " + layer, routed.count() + STEPS);
                    LayerInput given = LayerInput.read(input, width, backend, type)) {
                int rows = given.tokens().rows();
                if (rows == 0) {
                    throw Require.expected(input.toString(), "at least 1 token in hidden_states", 0);
                }
                Require.inRange("--token", token, 0, rows - 1, "tokens of " + input);
                progress.step();
                try (MoeBlock block = residual
                        ? model.block(layer, backend, progress::step)
                        : MoeBlock.of(model.layer(layer, backend, progress::step))) {
                    Report report = report(block, given);
                    progress.step();
                    return new Outcome(report, given.unused());
                }
            }
        }
    }

    private Report report(MoeBlock block, LayerInput given) {
        MoeLayer moe = block.layer();
        if (!(moe.router() instanceof TopKRouter router)) {
            throw Require.expected("layer", "one with a top-k router", moe.router());
        }
        try (Unfinished made = new Unfinished()) { // closes what was made in any case
            Matrix tokens = made.add(
                    block.before().map(norm -> norm.apply(given.tokens())).orElseGet(given.tokens()::share));
            LayerPieces pieces = LayerPieces.of(moe, router, tokens, token);
            return new Report(
                    "Token " + token + " in layer " + layer + " of " + checkpoint,
                    Optional.empty(),
                    List.of(
                            residual ? pieces.part(block, given.tokens()) : pieces.part(),
                            PrecisionPart.of(router, tokens),
                            GradientPart.of(moe, tokens, token, given.dOutput().filter(d -> !residual)),
                            changes.part(moe, tokens)));
        }
    }
}
