package org.moe4j.merge.rewrite;

import java.util.Arrays;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** Sends token t to the K experts from t on, with weight 1/K each; nothing of it depends on what a token is. */
record EvenRouter(int experts, int topK) implements Router {
    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
        int[] chosen = new int[tokens.rows() * topK];
        Arrays.setAll(chosen, i -> (i / topK + i % topK) % experts);
        double[] weights = new double[chosen.length];
        Arrays.fill(weights, 1.0 / topK);
        Routing routing = Routing.of(experts, topK, chosen, weights);
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
    public boolean unitSum() {
        return true;
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
