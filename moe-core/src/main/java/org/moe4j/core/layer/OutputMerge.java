package org.moe4j.core.layer;

import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.parameter.Parameters;

/** Port: joins the routed output with the outputs of the shared experts. */
public interface OutputMerge extends AutoCloseable {
    /**
     * Joins the branches.
     *
     * @param tokens (T×D)
     * @param routed (T×D), already weighted by the router
     * @param shared (T×D) each; none, one, or several
     * @return the pass
     */
    MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared);

    /**
     * Refuses a layer whose router or widths the convention does not fit, naming both settings; called by
     * {@link MoeLayer} when the two come together.
     *
     * @param router its weights are what the convention multiplies
     * @param routed the routed experts
     * @param shared the shared experts
     * @throws IllegalArgumentException when they do not fit
     */
    void requireFits(Router router, Experts routed, List<Experts> shared);

    /**
     * Refuses a place of the routing weights that the convention was not made for, naming both settings; called by
     * {@link MoeLayer} as {@link #requireFits} is.
     *
     * @param place where the layer multiplies its routing weights
     * @throws IllegalArgumentException when it does not fit
     */
    default void requirePlace(WeightPlace place) {}

    /**
     * The parameters; the handles belong to the caller.
     *
     * @return empty for a fixed rule
     */
    Parameters parameters();

    /**
     * The same rule with other parameters.
     *
     * @param parameters the same names and shapes
     * @return a new merge
     */
    OutputMerge withParameters(Parameters parameters);

    /** Releases the parameters; without any, there is nothing to do. A layer closes its merge with itself. */
    @Override
    default void close() {}
}
