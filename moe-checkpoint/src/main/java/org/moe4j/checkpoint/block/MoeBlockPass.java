package org.moe4j.checkpoint.block;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** Everything one forward of a block computed, and its backward. The output and all gradients belong to the caller. */
public final class MoeBlockPass implements AutoCloseable {
    private final MoeBlock block;
    private final Matrix hidden;
    private final MoePass layer;
    private final Matrix ofLayer;
    private final Matrix output;

    MoeBlockPass(MoeBlock block, Matrix hidden, MoePass layer, Matrix ofLayer, Matrix output) {
        this.block = block;
        this.hidden = hidden;
        this.layer = layer;
        this.ofLayer = ofLayer;
        this.output = output;
    }

    /**
     * Output of the block; it belongs to the caller.
     *
     * @return (T×D)
     */
    public Matrix output() {
        return output;
    }

    /**
     * The pass of the layer, which belongs to this one.
     *
     * @return routing and coefficients
     */
    public MoePass layerPass() {
        return layer;
    }

    /**
     * Gradients of {@code Σ output ⊙ dOutput + auxiliaryLoss}.
     *
     * @param dOutput (T×D)
     * @return gradients of h (T×D) and of all parameters of the block
     * @throws IllegalArgumentException for a gradient of another shape or backend
     */
    public Gradients backward(Matrix dOutput) {
        Backend backend = hidden.backend();
        KernelChecks.gradient(backend, dOutput, hidden);
        try (Unfinished made = new Unfinished();
                Unfinished parts = new Unfinished()) { // closes what only enters sums
            Parameters ofNorms = Parameters.none();
            Matrix dLayer = dOutput;
            if (block.behind().isPresent()) {
                Gradients gradients = block.behind().get().backward(ofLayer, dOutput);
                dLayer = parts.add(gradients.input());
                ofNorms = made.add(MoeBlock.named("norm.behind", gradients.parameters()));
            }
            Gradients through = layer.backward(dLayer);
            Parameters ofLayerParts = made.add(through.parameters());
            Matrix dBranch = parts.add(through.input());
            if (block.before().isPresent()) {
                Gradients gradients = block.before().get().backward(hidden, dBranch);
                dBranch = parts.add(gradients.input());
                ofNorms = made.add(MoeBlock.named("norm.before", gradients.parameters()))
                        .and(ofNorms);
            }
            Matrix dHidden = backend.add(dOutput, dBranch);
            made.keep();
            return new Gradients(dHidden, ofLayerParts.and(ofNorms));
        }
    }

    /** Releases what backward needs; doing so again changes nothing. */
    @Override
    public void close() {
        layer.close();
        hidden.close();
        ofLayer.close();
    }
}
