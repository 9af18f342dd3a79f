package org.moe4j.bench.layer;

import org.moe4j.bench.layer.TokenwiseRoutes.Routes;
import org.moe4j.core.testing.RoutingGap;

/**
 * A whole layer by its definition, one token after another on plain arrays: it shares no code with the library, and
 * none with the helpers of other tests.
 */
final class TokenwiseLayer {
    /**
     * The smallest distance of a number before an activation to a kink that tests accept: a step of a difference moves such a
     * number by a few 1e-5, a rounding in float by some 1e-6.
     */
    private static final double KINK = 2e-4;

    private TokenwiseLayer() {}

    /** Whether neither a step of a difference nor a rounding flips anything: no choice of the router, no drop, no kink. */
    static boolean awayFromJumps(LayerCase c) {
        return TokenwiseRoutes.gap(c) >= RoutingGap.ENOUGH && kinkGap(c) >= KINK;
    }

    private static double kinkGap(LayerCase c) {
        double[][] weights = TokenwiseRoutes.of(c).weights();
        double gap = Double.POSITIVE_INFINITY;
        for (int t = 0; t < weights.length; t++) {
            double[] x = TokenwiseRoutes.token(c, t);
            for (int e = 0; e < weights[t].length; e++) {
                if (weights[t][e] != 0) {
                    gap = Math.min(gap, expert(c, e).gap(input(c, x, weights[t][e])));
                }
            }
            for (int i = 0; i < c.shared().widths().size(); i++) {
                gap = Math.min(gap, shared(c, i).gap(x));
            }
        }
        return gap;
    }

    /** Whether a number of some routed expert is beyond a kink of its activation. */
    static boolean beyondKinks(LayerCase c) {
        double[][] weights = TokenwiseRoutes.of(c).weights();
        boolean beyond = false;
        for (int t = 0; t < weights.length; t++) {
            double[] x = TokenwiseRoutes.token(c, t);
            for (int e = 0; e < weights[t].length; e++) {
                beyond |= weights[t][e] != 0 && expert(c, e).beyondKink(input(c, x, weights[t][e]));
            }
        }
        return beyond;
    }

    /** Output of the layer, T·D numbers. */
    static double[] output(LayerCase c) {
        return output(c, TokenwiseRoutes.of(c));
    }

    /** The same when the routes are known already, as they are while an expert's weights move. */
    static double[] output(LayerCase c, Routes routes) {
        int d = c.sizes().hidden();
        double[] y = new double[c.sizes().tokens() * d];
        double factor = TokenwiseMerge.routedFactor(c);
        for (int t = 0; t < c.sizes().tokens(); t++) {
            double[] x = TokenwiseRoutes.token(c, t);
            double[] shared = TokenwiseMerge.sharedCoefficients(c, t);
            Plain.add(y, t * d, factor, routed(c, x, routes.weights()[t]));
            Plain.add(y, t * d, factor * routes.passed()[t], x);
            for (int i = 0; i < shared.length; i++) {
                Plain.add(y, t * d, shared[i], shared(c, i).output(x));
            }
        }
        return y;
    }

    private static double[] routed(LayerCase c, double[] x, double[] weights) {
        double[] sum = new double[c.expertHidden()];
        for (int e = 0; e < weights.length; e++) {
            if (weights[e] != 0) {
                double outer = c.routed().weighsInput() ? 1 : weights[e];
                Plain.add(sum, 0, outer, expert(c, e).output(input(c, x, weights[e])));
            }
        }
        return c.routed().latent().isEmpty()
                ? sum
                : Plain.products(c.parameters().get("latent.up"), sum);
    }

    /** What a routed expert is given of a token. */
    private static double[] input(LayerCase c, double[] x, double weight) {
        double[] input = c.routed().latent().isEmpty()
                ? x.clone()
                : Plain.products(c.parameters().get("latent.down"), x);
        for (int i = 0; c.routed().weighsInput() && i < input.length; i++) {
            input[i] *= weight;
        }
        return input;
    }

    private static TokenwiseExpert expert(LayerCase c, int expert) {
        return TokenwiseExpert.of(c.routed().kind(), c.parameters(), "experts." + expert);
    }

    private static TokenwiseExpert shared(LayerCase c, int expert) {
        return TokenwiseExpert.of(c.shared().kind(), c.parameters(), "shared." + expert);
    }

    /**
     * r_te for every token and expert: 0 for what was not chosen or dropped, and the merge's factor alone where the router's
     * weight multiplies what the expert is given.
     */
    static double[][] routedCoefficients(LayerCase c) {
        double[][] r = TokenwiseRoutes.of(c).weights();
        double factor = TokenwiseMerge.routedFactor(c);
        for (double[] token : r) {
            for (int e = 0; e < token.length; e++) {
                token[e] = c.routed().weighsInput() ? factor * Math.signum(token[e]) : factor * token[e];
            }
        }
        return r;
    }
}
