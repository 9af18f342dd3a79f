package org.moe4j.core.layer;

import java.util.Optional;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.WeightPlace;

/**
 * What really multiplied each branch: r_ti and s_t of Equation 80 of the report on Olmo's MoE recipe,
 * {@code y_t = Σ_i r_ti · f_i(x_t) + s_t · g(x_t)}; and p_t of {@code p_t · x_t}, which a capacity can add for a token that no
 * expert took.
 */
public final class Coefficients {
    private final Admission admission;
    private final WeightPlace place;
    private final Optional<MergePass> merge;

    Coefficients(Admission admission, WeightPlace place, Optional<MergePass> merge) {
        this.admission = admission;
        this.place = place;
        this.merge = merge;
    }

    /**
     * Coefficient of a routed expert.
     *
     * @param token 0 ≤ token &lt; T
     * @param rank 0 ≤ rank &lt; experts of the token
     * @return the weight after capacity times the merge's factor, or that factor alone where the weight is on the expert's
     *     input; 0 when the assignment was dropped
     */
    public double routed(int token, int rank) {
        if (place == WeightPlace.OUTPUT) {
            return factor(token) * admission.weight(token, rank);
        }
        return admission.isDropped(token, rank) ? 0 : factor(token);
    }

    /**
     * Coefficient of the token itself, where capacity passes tokens through that no expert took.
     *
     * @param token 0 ≤ token &lt; T
     * @return what passes through times the merge's factor; 0 where nothing does
     */
    public double passed(int token) {
        return factor(token) * admission.passed(token);
    }

    private double factor(int token) {
        return merge.map(pass -> pass.routedFactor(token)).orElse(1.0);
    }

    /**
     * Coefficient of a shared expert.
     *
     * @param token 0 ≤ token &lt; T
     * @param branch index of the shared expert
     * @return the merge's factor
     * @throws IllegalStateException when the layer has no shared branch
     */
    public double shared(int token, int branch) {
        return merge.orElseThrow(() -> new IllegalStateException("layer: expected a shared branch but was one without"))
                .sharedFactor(token, branch);
    }
}
