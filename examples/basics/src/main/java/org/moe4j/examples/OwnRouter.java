package org.moe4j.examples;

import java.util.stream.IntStream;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/** A router of your own: by the signs of a token's first numbers, without a parameter. */
public final class OwnRouter {
    private static final int TOKENS = 64;
    private static final int HIDDEN = 8;

    private OwnRouter() {}

    /** Sends a token to the expert whose bits are the signs of its first {@code bits} numbers. */
    record SignRouter(int bits) implements Router {
        @Override
        public RouterPass route(Matrix tokens, RoutingContext context) {
            int[] experts = IntStream.range(0, tokens.rows())
                    .map(t -> IntStream.range(0, bits)
                            .map(d -> tokens.get(t, d) > 0 ? 1 << d : 0)
                            .sum())
                    .toArray();
            double[] weights = new double[experts.length];
            java.util.Arrays.fill(weights, 1);
            return new SignPass(Routing.of(experts(), 1, experts, weights), tokens.backend(), tokens.columns());
        }

        @Override
        public int experts() {
            return 1 << bits;
        }

        @Override
        public int topK() {
            return 1;
        }

        @Override
        public boolean unitSum() {
            return true; // the weights of a token add up to 1
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

    /** Fixed weights: nothing flows back to the tokens through the router. */
    record SignPass(Routing routing, Backend backend, int hidden) implements RouterPass {
        @Override
        public double auxiliaryLoss() {
            return 0;
        }

        @Override
        public Gradients backward(double[] dWeights, double[] dLogits) {
            int tokens = routing.tokens();
            return new Gradients(backend.matrix(tokens, hidden, new double[tokens * hidden]), Parameters.none());
        }
    }

    public static void main(String[] args) {
        Backend backend = Backends.best(Backends.Precision.FLOAT64);
        try (SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(4, HIDDEN, 16), backend, 2L);
                MoeLayer layer = MoeLayer.of(new SignRouter(2), experts);
                Matrix tokens = Initializer.normal(1).draw(backend, TOKENS, HIDDEN, 3L);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                Gradients gradients = pass.backward(output)) {
            int[] counts = pass.routing().tokensPerExpert();
            System.out.println("tokens of each expert: " + java.util.Arrays.toString(counts));

            // The gradient of a token, by differences of ½·‖output‖², which the router's choice does not depend on here.
            double[] moved = tokens.toArray();
            int at = 5 * HIDDEN + 4; // a number that is no sign bit
            double step = 1e-5;
            moved[at] += step;
            double above = loss(layer, backend, moved);
            moved[at] -= 2 * step;
            double difference = (above - loss(layer, backend, moved)) / (2 * step);
            double gradient = gradients.input().get(5, 4);
            System.out.println("gradient " + gradient + ", by differences " + difference);
            if (IntStream.of(counts).sum() != TOKENS || Math.abs(gradient - difference) > 1e-6) {
                throw new IllegalStateException("the router does not do what it should");
            }
        }
    }

    private static double loss(MoeLayer layer, Backend backend, double[] numbers) {
        try (Matrix tokens = backend.matrix(TOKENS, HIDDEN, numbers);
                Matrix output = layer.apply(tokens)) {
            return java.util.Arrays.stream(backend.rowDots(output, output)).sum() / 2;
        }
    }
}
