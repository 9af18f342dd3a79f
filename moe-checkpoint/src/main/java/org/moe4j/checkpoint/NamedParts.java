package org.moe4j.checkpoint;

import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.PartMatrices;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Parameters;

/** Finds the parts of a block among its parameters, or among their gradients, by the names of the block. */
record NamedParts(Parameters parameters) implements PartMatrices {
    @Override
    public Matrix of(LayerPart part, int expert) {
        return parameters.get(name(part, expert)).share();
    }

    /** Name of a part among the parameters of a block, as {@code experts.3.gate}. */
    static String name(LayerPart part, int expert) {
        return switch (part) {
            case ROUTER_WEIGHT -> "router.weight";
            case ROUTER_BIAS -> "router.bias";
            case GATE -> "experts." + expert + ".gate";
            case UP -> "experts." + expert + ".up";
            case DOWN -> "experts." + expert + ".down";
            case GATE_BIAS -> "experts." + expert + ".gateBias";
            case UP_BIAS -> "experts." + expert + ".upBias";
            case DOWN_BIAS -> "experts." + expert + ".downBias";
            case LATENT_DOWN -> "latent.down";
            case LATENT_UP -> "latent.up";
            case SHARED_GATE -> "shared.0.gate";
            case SHARED_UP -> "shared.0.up";
            case SHARED_DOWN -> "shared.0.down";
            case MERGE_GATE -> "merge.gate";
            case NORM_BEFORE -> "norm.before";
            case NORM_BEHIND -> "norm.behind";
            case SELECTION_BIAS ->
                throw new IllegalArgumentException("part: expected a parameter of a layer but was " + part.key());
        };
    }
}
