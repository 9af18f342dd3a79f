package org.moe4j.router.trace;

import java.util.OptionalInt;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;

/** Does what another router does, and writes down its choice. The passes stay the other's own, for those who know their kind. */
record RecordedRouter(Router inner, LayerRecord record) implements Router {
    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
        RouterPass pass = inner.route(tokens, context);
        record.add(pass, context);
        return pass;
    }

    @Override
    public Routing routing(Matrix tokens, RoutingContext context) {
        if (record.withLogits()) {
            return route(tokens, context).routing();
        }
        Routing routing = inner.routing(tokens, context);
        record.add(routing, new double[0], context);
        return routing;
    }

    @Override
    public int experts() {
        return inner.experts();
    }

    @Override
    public OptionalInt tokenWidth() {
        return inner.tokenWidth();
    }

    @Override
    public int topK() {
        return inner.topK();
    }

    @Override
    public boolean fixedCount() {
        return inner.fixedCount();
    }

    @Override
    public boolean unitSum() {
        return inner.unitSum();
    }

    @Override
    public double scale() {
        return inner.scale();
    }

    @Override
    public Parameters parameters() {
        return inner.parameters();
    }

    @Override
    public Router withParameters(Parameters parameters) {
        return new RecordedRouter(inner.withParameters(parameters), record);
    }

    @Override
    public void close() {
        inner.close();
    }
}
