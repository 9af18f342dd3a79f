package org.moe4j.router.trace;

import java.util.Set;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/**
 * Gives tokens the experts and weights that were recorded, whatever the tokens are. Nothing is computed from them, so that they get no
 * gradient through the router: zeros (T×D). It has no parameters and no losses.
 *
 * <p>A layer with the replay of what its own router chose gives the same output, to the last bit. To keep the experts but have their weights
 * made, and learned, by the router, give that router the selection {@link org.moe4j.router.ExpertSelection.Recorded}.
 */
public final class ReplayRouter implements Router {
    private final Routing routing;
    private final int topK;
    private final boolean fixedCount;
    private final boolean unitSum;
    private final double scale;

    private ReplayRouter(Routing routing, int topK, boolean fixedCount, boolean unitSum, double scale) {
        this.routing = routing;
        this.topK = topK;
        this.fixedCount = fixedCount;
        this.unitSum = unitSum;
        this.scale = scale;
    }

    /**
     * A recorded routing of which nothing else is known: its weights add up to anything, and have no scale of the router's in them.
     *
     * @param routing of as many tokens as each call will have, with at least one expert for some token
     * @return the router
     * @throws IllegalArgumentException for a routing whose K is outside 1..E
     */
    public static ReplayRouter of(Routing routing) {
        boolean fixed = routing.slots() == (long) routing.tokens() * routing.topK();
        int topK = Require.inRange("routing", routing.topK(), 1, routing.experts(), "experts per token");
        return new ReplayRouter(routing, topK, fixed, false, 1);
    }

    /**
     * A routing that a known router chose. K, scale and what its weights add up to are that router's, as a merge may need them.
     *
     * @param routing of as many tokens as each call will have
     * @param recorded the router that chose it, or one like it; not kept
     * @return the router
     * @throws IllegalArgumentException for a routing that such a router cannot have chosen
     */
    public static ReplayRouter of(Routing routing, Router recorded) {
        Require.count("routing", routing.experts(), recorded.experts(), "experts (of the router)");
        if (recorded.fixedCount()) {
            Require.count(
                    "routing",
                    routing.slots(),
                    (long) routing.tokens() * recorded.topK(),
                    "assignments (topK of the router for each token)");
        }
        return new ReplayRouter(routing, recorded.topK(), recorded.fixedCount(), recorded.unitSum(), recorded.scale());
    }

    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
        requireTokens(tokens, context);
        return new Pass(routing, tokens);
    }

    @Override
    public Routing routing(Matrix tokens, RoutingContext context) {
        requireTokens(tokens, context);
        return routing;
    }

    private void requireTokens(Matrix tokens, RoutingContext context) {
        Require.count("tokens", tokens.rows(), routing.tokens(), "tokens (of the recorded routing)");
        context.requireTokens(tokens.rows());
    }

    @Override
    public int experts() {
        return routing.experts();
    }

    @Override
    public int topK() {
        return topK;
    }

    @Override
    public boolean fixedCount() {
        return fixedCount;
    }

    @Override
    public boolean unitSum() {
        return unitSum;
    }

    @Override
    public double scale() {
        return scale;
    }

    @Override
    public Parameters parameters() {
        return Parameters.none();
    }

    @Override
    public ReplayRouter withParameters(Parameters parameters) {
        parameters.requireNames(Set.of());
        return this;
    }

    @Override
    public String toString() {
        return "ReplayRouter[" + routing + "]";
    }

    private record Pass(Routing routing, Matrix tokens) implements RouterPass {
        @Override
        public double auxiliaryLoss() {
            return 0;
        }

        @Override
        public Gradients backward(double[] dWeights, double[] dLogits) {
            Require.count("dWeights", dWeights.length, routing.slots(), "numbers (one per slot)");
            Require.count("dLogits", dLogits.length, 0, "numbers (a replayed routing has no logits)");
            return new Gradients(tokens.backend().buffer(tokens.rows(), tokens.columns()), Parameters.none());
        }
    }
}
