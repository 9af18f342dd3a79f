package org.moe4j.checkpoint.layout;

import org.moe4j.core.backend.Matrix;

/** Gives the matrices of parts. */
public interface PartMatrices {
    /**
     * The matrix of a part.
     *
     * @param part any
     * @param expert whose; 0 for a part that is not an expert's
     * @return a handle of the caller's
     */
    Matrix of(LayerPart part, int expert);
}
