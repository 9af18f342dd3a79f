package org.moe4j.checkpoint.layout;

import java.util.Arrays;
import java.util.Optional;

/** A matrix of a layer, and by which letters layouts call its two sizes; a vector is a matrix of one row. */
public enum LayerPart {
    /** The router's rows (E×D). */
    ROUTER_WEIGHT("router.weight", 'E', 'D', Whose.LAYER),
    /** Added to the logits (1×E). */
    ROUTER_BIAS("router.bias", '1', 'E', Whose.LAYER),
    /** Steers the selection (1×E). */
    SELECTION_BIAS("router.selectionBias", '1', 'E', Whose.LAYER),
    /** Gate projection of a routed expert (F×D); D is the latent size where there is one. */
    GATE("experts.gate", 'F', 'D', Whose.EXPERT),
    /** Up projection of a routed expert (F×D). */
    UP("experts.up", 'F', 'D', Whose.EXPERT),
    /** Down projection of a routed expert (D×F). */
    DOWN("experts.down", 'D', 'F', Whose.EXPERT),
    /** Bias of a gate projection (1×F). */
    GATE_BIAS("experts.gateBias", '1', 'F', Whose.EXPERT),
    /** Bias of an up projection (1×F). */
    UP_BIAS("experts.upBias", '1', 'F', Whose.EXPERT),
    /** Bias of a down projection (1×D). */
    DOWN_BIAS("experts.downBias", '1', 'D', Whose.EXPERT),
    /** From the tokens to the latent space (L×D). */
    LATENT_DOWN("latent.down", 'L', 'D', Whose.LAYER),
    /** From the latent space back (D×L). */
    LATENT_UP("latent.up", 'D', 'L', Whose.LAYER),
    /** Gate projection of the shared expert (S×D). */
    SHARED_GATE("shared.gate", 'S', 'D', Whose.LAYER),
    /** Up projection of the shared expert (S×D). */
    SHARED_UP("shared.up", 'S', 'D', Whose.LAYER),
    /** Down projection of the shared expert (D×S). */
    SHARED_DOWN("shared.down", 'D', 'S', Whose.LAYER),
    /** Gate on the shared expert's output (1×D). */
    MERGE_GATE("merge.gate", '1', 'D', Whose.LAYER),
    /** Weight of the norm before the layer (1×D). */
    NORM_BEFORE("block.normBefore", '1', 'D', Whose.BLOCK),
    /** Weight of the norm behind the layer (1×D). */
    NORM_BEHIND("block.normBehind", '1', 'D', Whose.BLOCK);

    /** What a part belongs to. */
    enum Whose {
        LAYER,
        EXPERT,
        BLOCK
    }

    private final String key;
    private final char rows;
    private final char columns;
    private final Whose whose;

    LayerPart(String key, char rows, char columns, Whose whose) {
        this.key = key;
        this.rows = rows;
        this.columns = columns;
        this.whose = whose;
    }

    /**
     * Its name in layouts.
     *
     * @return as {@code experts.gate}
     */
    public String key() {
        return key;
    }

    static Optional<LayerPart> named(String key) {
        return Arrays.stream(values()).filter(part -> part.key.equals(key)).findFirst();
    }

    /** Letter of the rows; {@code 1} for a vector. */
    char rows() {
        return rows;
    }

    /** Letter of the columns. */
    char columns() {
        return columns;
    }

    Whose whose() {
        return whose;
    }
}
