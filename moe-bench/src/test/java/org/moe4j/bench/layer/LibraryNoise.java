package org.moe4j.bench.layer;

import java.util.Arrays;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterNoise;
import org.moe4j.router.TopKRouter;

/** The library's noise that some words describe, and what it draws. */
final class LibraryNoise {
    private LibraryNoise() {}

    static TopKRouter on(TopKRouter router, LayerCase c, Backend backend) {
        double number = c.training().noise().number();
        return switch (c.training().noise().kind()) {
            case "none" -> router;
            case "input-jitter" -> router.withNoise(new RouterNoise.InputJitter(number));
            case "fixed-normal" -> router.withNoise(new RouterNoise.FixedNormal(number));
            case "learned-normal" ->
                router.withNoise(
                        new RouterNoise.LearnedNormal(number),
                        c.parameters().get("router.noise").on(backend));
            default ->
                throw new IllegalArgumentException("noise " + c.training().noise());
        };
    }

    /**
     * The factors of a jitter, as T·D numbers: they depend on seed and place alone, and are the logits of tokens of ones for a
     * router whose weight is the identity.
     */
    static double[] jitter(double epsilon, int tokens, int hidden, RoutingContext context, Backend backend) {
        double[] ones = new double[tokens * hidden];
        Arrays.fill(ones, 1);
        double[] identity = new double[hidden * hidden];
        for (int i = 0; i < hidden; i++) {
            identity[i * hidden + i] = 1;
        }
        try (Matrix input = backend.matrix(tokens, hidden, ones);
                Matrix weight = backend.matrix(hidden, hidden, identity);
                TopKRouter router = TopKRouter.of(RouterConfig.topK(hidden, 1), weight)
                        .withNoise(new RouterNoise.InputJitter(epsilon))) {
            return router.route(input, context).logits();
        }
    }
}
