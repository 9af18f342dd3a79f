package org.moe4j.core.layer;

import java.util.Optional;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;

/**
 * What really multiplied each branch: r_ti and s_t of Equation 80 of the report on Olmo's MoE recipe,
 * {@code y_t = Σ_i r_ti · f_i(x_t) + s_t · g(x_t)}.
 */
public final class Coefficients {
    private final Routing routing;
    private final DispatchPlan plan;
    private final Optional<MergePass> merge;

    Coefficients(Routing routing, DispatchPlan plan, Optional<MergePass> merge) {
        this.routing = routing;
        this.plan = plan;
        this.merge = merge;
    }

    /**
     * Coefficient of a routed expert.
     *
     * @param token 0 ≤ token &lt; T
     * @param rank 0 ≤ rank &lt; experts of the token
     * @return the routing weight times the merge's factor; 0 when the assignment was dropped
     */
    public double routed(int token, int rank) {
        double factor = merge.map(pass -> pass.routedFactor(token)).orElse(1.0);
        return plan.isDropped(token, rank) ? 0 : factor * routing.weight(token, rank);
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
