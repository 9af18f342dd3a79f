package org.moe4j.bench.study.mergescale;

import java.util.Set;
import java.util.function.UnaryOperator;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/**
 * Routes as another router does, perhaps with a changed routing, and lets no gradient through: its weights are constants.
 *
 * @param source decides where tokens go
 * @param experts number of experts after the change
 * @param unitSum whether the changed weights of a token add up to one
 * @param change what becomes of the routing
 */
record FrozenRouter(Router source, int experts, boolean unitSum, UnaryOperator<Routing> change) implements Router {
    /** The same routing with constant weights. */
    static FrozenRouter detached(Router source) {
        return new FrozenRouter(source, source.experts(), source.unitSum(), UnaryOperator.identity());
    }

    /** The same experts with weight one each: the routed part of the matched dense reference. */
    static FrozenRouter unitCoefficients(Router source) {
        return new FrozenRouter(source, source.experts(), false, routing -> changed(routing, routing.experts(), false));
    }

    /** The same weights, but the expert at rank j is expert j for every token, so that only K experts need to exist. */
    static FrozenRouter byRank(Router source) {
        return new FrozenRouter(
                source, source.topK(), source.unitSum(), routing -> changed(routing, routing.topK(), true));
    }

    private static Routing changed(Routing routing, int experts, boolean byRank) {
        int topK = routing.topK();
        int[] indices = new int[routing.slots()];
        double[] weights = new double[routing.slots()];
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < topK; rank++) {
                indices[t * topK + rank] = byRank ? rank : routing.expert(t, rank);
                weights[t * topK + rank] = byRank ? routing.weight(t, rank) : 1;
            }
        }
        return Routing.of(experts, topK, indices, weights);
    }

    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
        Routing routing = change.apply(source.route(tokens, context).routing());
        return new RouterPass() {
            @Override
            public Routing routing() {
                return routing;
            }

            @Override
            public double auxiliaryLoss() {
                return 0;
            }

            @Override
            public Gradients backward(double[] dWeights, double[] dLogits) {
                return new Gradients(tokens.backend().buffer(tokens.rows(), tokens.columns()), Parameters.none());
            }
        };
    }

    @Override
    public int topK() {
        return source.topK();
    }

    @Override
    public double scale() {
        return unitSum ? source.scale() : 1;
    }

    @Override
    public Parameters parameters() {
        return Parameters.none();
    }

    @Override
    public Router withParameters(Parameters parameters) {
        parameters.requireNames(Set.of());
        return this;
    }
}
