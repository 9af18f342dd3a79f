package org.moe4j.checkpoint.census;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import org.moe4j.checkpoint.layout.LayerPart;

/** What parameters are for. */
public enum Role {
    /** The table that tokens are looked up in. */
    EMBEDDING,
    /** From the last layer to a score for each token of the vocabulary; absent where it is the embedding table. */
    LM_HEAD,
    /** Attention with its own norms, or what stands in its place: a state space, linear attention. */
    ATTENTION,
    /** The feed-forward network of layers that are no MoE layers. */
    DENSE_MLP,
    /** The router's rows, its bias, and the selection bias. */
    ROUTER,
    /** The experts of which a token has K. */
    ROUTED_EXPERTS,
    /** The experts of every token, and the gate on what they give. */
    SHARED_EXPERTS,
    /** The projections between tokens and the latent space of the routed experts. */
    LATENT,
    /** Norms of layers and behind the last one. */
    NORMS,
    /** Tensors that the layout has no name for. */
    OTHER;

    /**
     * Its name in layouts and results.
     *
     * @return as {@code routed_experts}
     */
    public String key() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The role of this name. */
    static Optional<Role> named(String key) {
        return Arrays.stream(values()).filter(role -> role.key().equals(key)).findFirst();
    }

    /** The role of a part of an MoE layer. */
    static Role of(LayerPart part) {
        return switch (part) {
            case ROUTER_WEIGHT, ROUTER_BIAS, SELECTION_BIAS -> ROUTER;
            case GATE, UP, DOWN, GATE_BIAS, UP_BIAS, DOWN_BIAS -> ROUTED_EXPERTS;
            case LATENT_DOWN, LATENT_UP -> LATENT;
            case SHARED_GATE, SHARED_UP, SHARED_DOWN, MERGE_GATE -> SHARED_EXPERTS;
            case NORM_BEFORE, NORM_BEHIND -> NORMS;
        };
    }
}
