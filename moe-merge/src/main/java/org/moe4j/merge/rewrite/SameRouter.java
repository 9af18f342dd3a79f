package org.moe4j.merge.rewrite;

import java.util.Arrays;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/** Refuses a router that differs from a layer's in more than its scale, as far as can be seen from outside. */
final class SameRouter {
    private static final int PROBES = 32;
    private static final long SEED = 21;

    /** Two roundings for each scale in double, with room for a router that multiplies in another order. */
    private static final double ROUNDING = 1e-12;

    private SameRouter() {}

    /**
     * Compares what the port says, the parameters bit by bit, and the routing of drawn tokens.
     *
     * @return the other's scale over the layer's, finite and above 0
     */
    static double scaleRatio(MoeLayer layer, Router other) {
        Router router = layer.router();
        if (other == router) {
            return 1;
        }
        Require.count("other", other.experts(), router.experts(), "experts (those of the layer's router)");
        Require.count("other", other.topK(), router.topK(), "as topK (that of the layer's router)");
        same("unitSum", other.unitSum(), router.unitSum());
        same("fixedCount", other.fixedCount(), router.fixedCount());
        same("tokenWidth", other.tokenWidth(), router.tokenWidth());
        double ratio = other.scale() / router.scale();
        if (!(ratio > 0) || Double.isInfinite(ratio)) {
            throw Require.expected(
                    "other.scale", "a finite multiple above 0 of " + router.scale() + " (layer)", other.scale());
        }
        requireParameters(router, other);
        requireRouting(layer, other, ratio);
        return ratio;
    }

    private static void same(String what, Object others, Object layers) {
        if (!others.equals(layers)) {
            throw Require.expected("other." + what, layers + " (that of the layer's router)", others);
        }
    }

    private static void requireParameters(Router router, Router other) {
        try (Parameters layers = router.parameters();
                Parameters others = other.parameters()) {
            others.requireNames(layers.names());
            for (String name : layers.names()) {
                Matrix a = others.get(name);
                Matrix b = layers.get(name);
                boolean sameShape = a.rows() == b.rows() && a.columns() == b.columns();
                if (!sameShape || !a.backend().equals(b.backend()) || !Arrays.equals(a.toArray(), b.toArray())) {
                    throw Require.expected(
                            "other",
                            "the parameter " + name + " of the layer's router, bit by bit",
                            "another matrix",
                            "only the scale of the router may differ");
                }
            }
        }
    }

    private static void requireRouting(MoeLayer layer, Router other, double ratio) {
        try (Matrix tokens = tokens(layer)) {
            Routing expected = layer.router().routing(tokens, RoutingContext.plain());
            Routing actual = other.routing(tokens, RoutingContext.plain());
            for (int t = 0; t < PROBES; t++) {
                for (int rank = 0; rank < Math.max(expected.count(t), actual.count(t)); rank++) {
                    if (!isSame(expected, actual, t, rank, ratio)) {
                        throw Require.expected(
                                "other",
                                "the routing of the layer's router, its weights times " + ratio,
                                "another one for drawn token " + t,
                                "only the scale of the router may differ");
                    }
                }
            }
        }
    }

    /** Drawn tokens on which routers are compared. */
    static Matrix tokens(MoeLayer layer) {
        return Initializer.normal(1).draw(layer.experts().backend(), PROBES, tokenWidth(layer), SEED);
    }

    /** Width of the tokens that a layer takes. */
    static int tokenWidth(MoeLayer layer) {
        return layer.latent()
                .map(LatentProjections::hiddenSize)
                .orElse(layer.experts().shape().hiddenSize());
    }

    private static boolean isSame(Routing expected, Routing actual, int token, int rank, double ratio) {
        if (expected.count(token) != actual.count(token)
                || expected.expert(token, rank) != actual.expert(token, rank)) {
            return false;
        }
        double weight = expected.weight(token, rank) * ratio;
        return Math.abs(actual.weight(token, rank) - weight) <= ROUNDING * Math.abs(weight);
    }
}
