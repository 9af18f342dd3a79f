package org.moe4j.core.layer;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** A router of tests with given experts, whose weights are linear in the token: {@code w_tj = 1 + ⟨x_t, v_tj⟩}. */
@SuppressWarnings("ArrayRecordComponent") // test data
record WeighingRouter(Routing choices, double scale, double[]... directions) implements Router {
    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
        int width = tokens.columns();
        int[] offsets = new int[choices.tokens() + 1];
        int[] chosen = new int[choices.slots()];
        double[] weights = new double[choices.slots()];
        for (int t = 0; t < choices.tokens(); t++) {
            offsets[t + 1] = offsets[t] + choices.count(t);
            for (int rank = 0; rank < choices.count(t); rank++) {
                int slot = offsets[t] + rank;
                chosen[slot] = choices.expert(t, rank);
                weights[slot] = 1;
                for (int i = 0; i < width; i++) {
                    weights[slot] += tokens.get(t, i) * directions[slot][i];
                }
            }
        }
        Routing routing = Routing.ofVarying(choices.experts(), offsets, chosen, weights);
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
                double[] dTokens = new double[tokens.rows() * width];
                for (int t = 0; t < tokens.rows(); t++) {
                    for (int slot = offsets[t]; slot < offsets[t + 1]; slot++) {
                        for (int i = 0; i < width; i++) {
                            dTokens[t * width + i] += dWeights[slot] * directions[slot][i];
                        }
                    }
                }
                return new Gradients(tokens.backend().matrix(tokens.rows(), width, dTokens), Parameters.none());
            }
        };
    }

    @Override
    public int experts() {
        return choices.experts();
    }

    @Override
    public int topK() {
        return Math.max(1, choices.topK());
    }

    @Override
    public boolean unitSum() {
        return false;
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
