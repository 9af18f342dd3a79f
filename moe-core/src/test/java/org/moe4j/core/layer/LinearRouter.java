package org.moe4j.core.layer;

import java.util.OptionalInt;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** A router of tests that chooses as it was told and weighs by {@code w_te = ⟨x_t, weight_e⟩}, so that weights have gradients. */
final class LinearRouter implements Router {
    private final Matrix weight;
    private final int[][] chosen;
    private final int topK;

    LinearRouter(Matrix weight, int[][] chosen, int topK) {
        this.weight = weight;
        this.chosen = chosen;
        this.topK = topK;
    }

    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
        int[] experts = new int[chosen.length * topK];
        double[] weights = new double[experts.length];
        for (int i = 0; i < experts.length; i++) {
            experts[i] = chosen[i / topK][i % topK];
            for (int d = 0; d < tokens.columns(); d++) {
                weights[i] += tokens.get(i / topK, d) * weight.get(experts[i], d);
            }
        }
        Routing routing = Routing.of(weight.rows(), topK, experts, weights);
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
                int width = tokens.columns();
                double[] dTokens = new double[chosen.length * width];
                double[] dWeight = new double[weight.rows() * width];
                for (int i = 0; i < experts.length; i++) {
                    for (int d = 0; d < width; d++) {
                        dTokens[i / topK * width + d] += dWeights[i] * weight.get(experts[i], d);
                        dWeight[experts[i] * width + d] += dWeights[i] * tokens.get(i / topK, d);
                    }
                }
                return new Gradients(
                        tokens.backend().matrix(chosen.length, width, dTokens),
                        Parameters.of("weight", tokens.backend().matrix(weight.rows(), width, dWeight)));
            }
        };
    }

    @Override
    public int experts() {
        return weight.rows();
    }

    @Override
    public OptionalInt tokenWidth() {
        return OptionalInt.of(weight.columns());
    }

    @Override
    public int topK() {
        return topK;
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
        return Parameters.of("weight", weight.share());
    }

    @Override
    public Router withParameters(Parameters parameters) {
        return new LinearRouter(parameters.get("weight").share(), chosen, topK);
    }

    @Override
    public void close() {
        weight.close();
    }
}
