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
import org.moe4j.router.loss.LoadBalancingLoss;

/** A small layer learns to give back its tokens, by plain gradient descent with a load-balancing loss. */
public final class TrainLayer {
    private static final Backend BACKEND = Backends.best();
    private static final int TOKENS = 128;
    private static final int HIDDEN = 8;
    private static final double RATE = 0.5;

    private TrainLayer() {}

    public static void main(String[] args) {
        MoeLayer layer = MoeLayer.of(
                TopKRouter.random(RouterConfig.topK(8, 2), HIDDEN, BACKEND, 1L)
                        .withLosses(LoadBalancingLoss.switchTransformer(0.01)),
                SwiGluExperts.random(new ExpertShape(8, HIDDEN, 16), BACKEND, 2L));
        double first = 0;
        double last = 0;
        for (int step = 0; step <= 300; step++) {
            try (Matrix tokens = Initializer.normal(1).draw(BACKEND, TOKENS, HIDDEN, step);
                    MoePass pass = layer.forward(tokens);
                    Matrix output = pass.output();
                    Matrix error = BACKEND.linearCombination(1, output, -1, tokens);
                    Matrix dOutput = BACKEND.linearCombination(1.0 / TOKENS, output, -1.0 / TOKENS, tokens);
                    Gradients gradients = pass.backward(dOutput)) {
                last = 0;
                for (double square : BACKEND.rowDots(error, error)) {
                    last += square / (2 * TOKENS);
                }
                first = step == 0 ? last : first;
                if (step % 100 == 0) {
                    System.out.printf("step %d loss %.4f balance %.4f%n", step, last, pass.auxiliaryLoss());
                }
                layer = stepped(layer, gradients);
            }
        }
        layer.close();
        if (!(last < first / 4)) {
            throw new IllegalStateException("the layer has not learned: " + first + " -> " + last);
        }
    }

    /** The next layer; the given one is closed. */
    private static MoeLayer stepped(MoeLayer layer, Gradients gradients) {
        try (layer;
                Parameters now = layer.parameters();
                Parameters next = now.map((name, value) -> BACKEND.linearCombination(
                        1, value, -RATE, gradients.parameters().get(name)))) {
            return layer.withParameters(next);
        }
    }
}
