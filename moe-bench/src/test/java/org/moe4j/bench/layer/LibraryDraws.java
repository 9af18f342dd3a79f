package org.moe4j.bench.layer;

import java.util.stream.IntStream;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.TokenJitter;
import org.moe4j.router.TopKPass;

/** The random numbers that the library draws in the call of a case. */
final class LibraryDraws {
    private LibraryDraws() {}

    /** The case with these numbers; a case without a seed stays as it is. */
    static LayerCase in(LayerCase c, Backend backend) {
        boolean draws = !c.training().noise().equals(NoiseWords.NONE)
                || c.router().choosing().ofTwo();
        if (c.training().situation().noiseSeed().isEmpty() || !draws) {
            return c;
        }
        RoutingContext context = LibraryLayer.context(c);
        NoiseWords noise = c.training().noise();
        int tokens = c.sizes().tokens();
        double[] routerFactors = noise.kind().equals("input-jitter")
                ? LibraryNoise.jitter(noise.number(), tokens, c.sizes().hidden(), context, backend)
                : new double[0];
        double[] tokenFactors = tokenFactors(c, context, backend);
        if (!noise.addsToLogits() && !c.router().choosing().ofTwo()) {
            return c.with(new Draws(tokenFactors, routerFactors, new double[0], new int[0]));
        }
        try (MoeLayer layer = LibraryLayer.of(c, backend);
                Matrix input = c.tokens().on(backend);
                MoePass pass = layer.forward(input, context)) {
            pass.output().close();
            double[] normal = noise.addsToLogits() ? normal((TopKPass) pass.routerPass()) : new double[0];
            int[] second = c.router().choosing().ofTwo() ? second(pass.routing()) : new int[0];
            return c.with(new Draws(tokenFactors, routerFactors, normal, second));
        }
    }

    private static double[] tokenFactors(LayerCase c, RoutingContext context, Backend backend) {
        double epsilon = c.training().noise().tokenEpsilon();
        if (epsilon == 0) {
            return new double[0];
        }
        long seed = context.noiseSeed("tokens").orElseThrow();
        try (Matrix factors = new TokenJitter(epsilon)
                .factors(backend, c.sizes().tokens(), c.sizes().hidden(), seed)) {
            return factors.toArray();
        }
    }

    private static double[] normal(TopKPass pass) {
        double[] noisy = pass.logits();
        double[] clean = pass.cleanLogits();
        double[] deviations = pass.noiseDeviations().orElseThrow();
        return IntStream.range(0, noisy.length)
                .mapToDouble(i -> (noisy[i] - clean[i]) / deviations[i])
                .toArray();
    }

    private static int[] second(Routing routing) {
        return IntStream.range(0, routing.tokens())
                .map(t -> routing.count(t) == 2 ? routing.expert(t, 1) : -1)
                .toArray();
    }
}
