package org.moe4j.core.layer;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** A router of tests that gives a routing it was made with; its weights are constants. */
final class FixedRouter implements Router {
    private final Routing said;
    private final Routing routing;

    FixedRouter(Routing routing) {
        this(routing, routing);
    }

    /** A router that has the numbers of experts of one routing and gives another. */
    FixedRouter(Routing said, Routing routing) {
        this.said = said;
        this.routing = routing;
    }

    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
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
    public int experts() {
        return said.experts();
    }

    @Override
    public int topK() {
        return Math.max(1, said.topK());
    }

    @Override
    public boolean unitSum() {
        return false;
    }

    @Override
    public double scale() {
        return 1;
    }

    @Override
    public Parameters parameters() {
        return Parameters.none();
    }

    @Override
    public Router withParameters(Parameters parameters) {
        return this;
    }
}
