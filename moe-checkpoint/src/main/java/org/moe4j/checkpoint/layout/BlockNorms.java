package org.moe4j.checkpoint.layout;

import java.util.Set;

/**
 * The norms of the block around a layer.
 *
 * @param parts which there are: {@link LayerPart#NORM_BEFORE}, {@link LayerPart#NORM_BEHIND}, both or none
 * @param epsilon added to the mean square
 * @param offset added to the weight
 */
public record BlockNorms(Set<LayerPart> parts, double epsilon, double offset) {
    /**
     * Copies the parts.
     *
     * @param parts which there are
     * @param epsilon added to the mean square
     * @param offset added to the weight
     */
    public BlockNorms {
        parts = Set.copyOf(parts);
    }
}
