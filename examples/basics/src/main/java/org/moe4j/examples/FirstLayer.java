package org.moe4j.examples;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** One layer, forward and backward, and its first token again in plain loops. */
public final class FirstLayer {
    private static final int TOKENS = 6;
    private static final int HIDDEN = 16;
    private static final int WIDTH = 32;

    private FirstLayer() {}

    public static void main(String[] args) {
        Backend backend = Backends.best();
        try (MoeLayer layer = MoeLayer.of(
                        TopKRouter.random(RouterConfig.topK(8, 2), HIDDEN, backend, 1L),
                        SwiGluExperts.random(new ExpertShape(8, HIDDEN, WIDTH), backend, 2L));
                Matrix tokens = Initializer.normal(1).draw(backend, TOKENS, HIDDEN, 3L);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                Gradients gradients = pass.backward(output); // of the loss ½·‖output‖²
                Parameters weights = layer.parameters()) {
            System.out.println(layer + " on " + backend.name());
            for (int t = 0; t < TOKENS; t++) {
                System.out.printf(
                        "token %d: experts %d and %d with %.4f and %.4f%n",
                        t,
                        pass.routing().expert(t, 0),
                        pass.routing().expert(t, 1),
                        pass.routing().weight(t, 0),
                        pass.routing().weight(t, 1));
            }
            System.out.println(gradients.parameters().names().size() + " gradients, as of "
                    + gradients.parameters().names().iterator().next());

            double[] expected = new double[HIDDEN];
            for (int rank = 0; rank < 2; rank++) {
                add(expected, pass.routing().weight(0, rank), weights, pass.routing().expert(0, rank), tokens);
            }
            for (int d = 0; d < HIDDEN; d++) {
                if (Math.abs(output.get(0, d) - expected[d]) > 1e-5) {
                    throw new IllegalStateException("output " + d + ": " + output.get(0, d) + ", not " + expected[d]);
                }
            }
            System.out.println("the first token is what plain loops give");
        }
    }

    /** Adds weight · down·(silu(gate·x) ⊙ up·x) of the first token. */
    private static void add(double[] sum, double weight, Parameters weights, int expert, Matrix tokens) {
        Matrix gate = weights.get("experts." + expert + ".gate");
        Matrix up = weights.get("experts." + expert + ".up");
        Matrix down = weights.get("experts." + expert + ".down");
        for (int f = 0; f < WIDTH; f++) {
            double g = 0;
            double u = 0;
            for (int d = 0; d < HIDDEN; d++) {
                g += gate.get(f, d) * tokens.get(0, d);
                u += up.get(f, d) * tokens.get(0, d);
            }
            for (int d = 0; d < HIDDEN; d++) {
                sum[d] += weight * down.get(d, f) * g / (1 + Math.exp(-g)) * u;
            }
        }
    }
}
