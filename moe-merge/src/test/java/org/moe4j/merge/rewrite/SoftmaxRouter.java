package org.moe4j.merge.rewrite;

import java.util.Arrays;
import java.util.Comparator;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/**
 * A router of tests: the K largest of {@code X·Wᵀ} by softmax over the selected, times a scale. What it says of itself is data, so that it can
 * be wrong, and {@code shift} turns what it chooses.
 */
record SoftmaxRouter(Matrix weight, int topK, double scale, boolean unitSum, boolean fixedCount, int shift)
        implements Router {
    static SoftmaxRouter of(Matrix weight, int topK, double scale) {
        return new SoftmaxRouter(weight, topK, scale, true, true, 0);
    }

    private int[] selected(double[] tokens, double[] weights, int token) {
        int width = weight.columns();
        double[] logits = new double[experts()];
        for (int e = 0; e < logits.length; e++) {
            for (int d = 0; d < width; d++) {
                logits[e] += tokens[token * width + d] * weights[e * width + d];
            }
        }
        Integer[] order = IntStream.range(0, logits.length).boxed().toArray(Integer[]::new);
        Arrays.sort(order, Comparator.comparingDouble(e -> -logits[e]));
        return Arrays.stream(order)
                .limit(topK)
                .mapToInt(e -> (e + shift) % logits.length)
                .toArray();
    }

    private double[] softmax(double[] tokens, double[] weights, int token, int[] selected) {
        int width = weight.columns();
        double[] p = new double[selected.length];
        for (int j = 0; j < p.length; j++) {
            double logit = 0;
            for (int d = 0; d < width; d++) {
                logit += tokens[token * width + d] * weights[selected[j] * width + d];
            }
            p[j] = StrictMath.exp(logit);
        }
        double sum = Arrays.stream(p).sum();
        return Arrays.stream(p).map(value -> value / sum).toArray();
    }

    @Override
    public RouterPass route(Matrix tokens, RoutingContext context) {
        double[] x = tokens.toArray();
        double[] w = weight.toArray();
        int[] chosen = new int[tokens.rows() * topK];
        double[] p = new double[chosen.length];
        for (int t = 0; t < tokens.rows(); t++) {
            int[] selected = selected(x, w, t);
            System.arraycopy(selected, 0, chosen, t * topK, topK);
            System.arraycopy(softmax(x, w, t, selected), 0, p, t * topK, topK);
        }
        double[] weights = Arrays.stream(p).map(value -> value * scale).toArray();
        Routing routing = Routing.of(experts(), topK, chosen, weights);
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
                return gradients(tokens, w, chosen, p, dWeights);
            }
        };
    }

    private Gradients gradients(Matrix tokens, double[] w, int[] chosen, double[] p, double[] dWeights) {
        double[] x = tokens.toArray();
        int width = weight.columns();
        double[] dX = new double[x.length];
        double[] dW = new double[w.length];
        for (int i = 0; i < chosen.length; i++) {
            int t = i / topK;
            double mean = 0;
            for (int j = t * topK; j < (t + 1) * topK; j++) {
                mean += p[j] * dWeights[j];
            }
            double dLogit = scale * p[i] * (dWeights[i] - mean);
            for (int d = 0; d < width; d++) {
                dX[t * width + d] += dLogit * w[chosen[i] * width + d];
                dW[chosen[i] * width + d] += dLogit * x[t * width + d];
            }
        }
        return new Gradients(
                tokens.backend().matrix(tokens.rows(), width, dX),
                Parameters.of("weight", tokens.backend().matrix(experts(), width, dW)));
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
    public Parameters parameters() {
        return Parameters.of("weight", weight.share());
    }

    @Override
    public Router withParameters(Parameters parameters) {
        return new SoftmaxRouter(parameters.get("weight").share(), topK, scale, unitSum, fixedCount, shift);
    }

    @Override
    public void close() {
        weight.close();
    }
}
