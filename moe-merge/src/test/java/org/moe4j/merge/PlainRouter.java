package org.moe4j.merge;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;

/** What a merge may ask a router, and nothing else. */
record PlainRouter(int experts, int topK, boolean unitSum, double scale) implements Router {
    static PlainRouter unit(int topK) {
        return new PlainRouter(48, topK, true, 1);
    }

    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
        throw new UnsupportedOperationException("route");
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
