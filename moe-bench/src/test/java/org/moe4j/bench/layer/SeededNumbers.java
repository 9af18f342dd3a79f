package org.moe4j.bench.layer;

import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.TokenJitter;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterNoise;
import org.moe4j.router.SecondExpert;
import org.moe4j.router.TopKRouter;

/** Numbers that the library draws from seeds, for a test and for JVMs of other JDKs. */
final class SeededNumbers {
    static final int ROWS = 50;
    static final int COLUMNS = 20;

    private static final Backend BACKEND = ReferenceBackend.instance();

    private SeededNumbers() {}

    /** Prints the hash of all kinds. */
    public static void main(String[] none) {
        System.out.println("numbers " + hash());
    }

    static String hash() {
        MessageDigest digest = LayerBits.sha256();
        for (long seed : new long[] {0, 1, -1, 1_234_567, Long.MIN_VALUE}) {
            LayerBits.add(digest, weights(new Initializer(1, Double.POSITIVE_INFINITY), seed));
            LayerBits.add(digest, weights(new Initializer(0.02, 3), seed));
            LayerBits.add(digest, jitter(0.25, seed));
            LayerBits.add(digest, noise(new RouterNoise.FixedNormal(COLUMNS), seed));
            LayerBits.add(digest, noise(new RouterNoise.InputJitter(0.25), seed));
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    static double[] weights(Initializer initializer, long seed) {
        try (Matrix drawn = initializer.draw(BACKEND, ROWS, COLUMNS, seed)) {
            return drawn.toArray();
        }
    }

    static double[] jitter(double epsilon, long seed) {
        try (Matrix factors = new TokenJitter(epsilon).factors(BACKEND, ROWS, COLUMNS, seed)) {
            return factors.toArray();
        }
    }

    /** What a router without an opinion makes of tokens of ones: noise on its logits, or 1 times the jitter. */
    static double[] noise(RouterNoise noise, long seed) {
        boolean jitter = noise instanceof RouterNoise.InputJitter;
        double[] ones = new double[Math.max(ROWS, COLUMNS)];
        Arrays.fill(ones, 1);
        double[] weights = jitter ? ones : new double[ones.length];
        try (Matrix weight = BACKEND.matrix(COLUMNS, 1, Arrays.copyOf(weights, COLUMNS));
                Matrix tokens = BACKEND.matrix(ROWS, 1, Arrays.copyOf(ones, ROWS));
                TopKRouter plain = TopKRouter.of(RouterConfig.topK(COLUMNS, 1), weight);
                TopKRouter router = plain.withNoise(noise)) {
            return router.route(tokens, new RoutingContext(Optional.empty(), List.of(), OptionalLong.of(seed)))
                    .logits();
        }
    }

    /** Experts of each token, best first, by a router that prefers none of them: the lowest, and maybe a second. */
    static Routing seconds(SecondExpert second, long seed) {
        RouterConfig config = RouterConfig.topK(COLUMNS, 2)
                .withSelection(new ExpertSelection.TopTwo(second))
                .withRenormalization(new Renormalization.None());
        try (Matrix weight = BACKEND.matrix(COLUMNS, 1, new double[COLUMNS]);
                Matrix tokens = BACKEND.matrix(ROWS, 1, new double[ROWS]);
                TopKRouter router = TopKRouter.of(config, weight)) {
            return router.route(tokens, new RoutingContext(Optional.empty(), List.of(), OptionalLong.of(seed)))
                    .routing();
        }
    }
}
