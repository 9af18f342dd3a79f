package org.moe4j.bench.layer;

import java.util.Arrays;
import org.moe4j.bench.layer.LayerCase.Limit;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/**
 * A whole layer by its definition, one token after another on plain arrays: it shares no code with the library, and
 * none with the helpers of other tests.
 */
final class TokenwiseLayer {
    private TokenwiseLayer() {}

    /** Logits of a token, E numbers. */
    static double[] logits(LayerCase c, int token) {
        double[] logits = products(c.parameters().get("router.weight"), row(c.tokens(), token));
        for (int e = 0; c.router().logitBias() && e < logits.length; e++) {
            logits[e] += c.parameters().get("router.bias").values()[e];
        }
        return logits;
    }

    /** The smallest distance of any token to a jump or a kink of its routing. */
    static double gap(LayerCase c) {
        double gap = Double.POSITIVE_INFINITY;
        for (int t = 0; t < c.sizes().tokens(); t++) {
            gap = Math.min(gap, TokenwiseRouter.gap(c.router(), logits(c, t)));
        }
        return gap;
    }

    /** Output of the layer, T·D numbers. */
    static double[] output(LayerCase c) {
        return output(c, routedCoefficients(c));
    }

    /** The same when the routed coefficients are known already, as they are while an expert's weights move. */
    static double[] output(LayerCase c, double[][] routed) {
        int d = c.sizes().hidden();
        double[] y = new double[c.sizes().tokens() * d];
        for (int t = 0; t < c.sizes().tokens(); t++) {
            double[] x = row(c.tokens(), t);
            for (int e = 0; e < c.router().experts(); e++) {
                if (routed[t][e] != 0) {
                    add(y, t * d, routed[t][e], expert(c, "experts." + e, x));
                }
            }
            double[] shared = sharedCoefficients(c, t);
            for (int i = 0; i < shared.length; i++) {
                add(y, t * d, shared[i], expert(c, "shared." + i, x));
            }
        }
        return y;
    }

    /** r_te for every token and expert: 0 for what was not chosen or dropped. */
    static double[][] routedCoefficients(LayerCase c) {
        int experts = c.router().experts();
        double[][] r = new double[c.sizes().tokens()][experts];
        int[] taken = new int[experts];
        double rows = rowsPerExpert(c);
        for (int t = 0; t < r.length; t++) {
            Choice choice = TokenwiseRouter.route(c.router(), logits(c, t));
            for (int rank = 0; rank < choice.experts().length; rank++) {
                int e = choice.experts()[rank];
                if (taken[e] < rows) {
                    taken[e]++;
                    r[t][e] = routedFactor(c) * choice.weights()[rank];
                }
            }
        }
        return r;
    }

    /** Rows an expert may take; of a limit that rounds down, 0 stands for any number. */
    private static double rowsPerExpert(LayerCase c) {
        if (c.limit().isEmpty()) {
            return Double.POSITIVE_INFINITY;
        }
        Limit limit = c.limit().get();
        double share =
                (double) (c.sizes().tokens() * c.router().topK()) / c.router().experts();
        return switch (limit.rounding()) {
            case "up" -> Math.ceil(share * limit.factor());
            case "down" -> {
                double rows = Math.floor(limit.factor() * share);
                yield rows == 0 ? Double.POSITIVE_INFINITY : rows;
            }
            default -> throw new IllegalArgumentException("rounding " + limit.rounding());
        };
    }

    private static double routedFactor(LayerCase c) {
        double topK = c.router().topK();
        double routed = topK * c.sizes().width();
        return switch (c.merge().convention()) {
            case "olmo" -> topK;
            case "equal-branch-mass" -> 0.5;
            case "width-proportional" -> routed / (routed + c.sharedWidth());
            case "scaled" -> c.merge().routedScale();
            case "active-mean" -> topK / (topK + 1);
            case "none", "routed-unit-sum", "sum", "sigmoid-gated", "shared-router" -> 1;
            default -> throw new IllegalArgumentException("merge " + c.merge());
        };
    }

    /** s_ti for each shared expert. */
    static double[] sharedCoefficients(LayerCase c, int token) {
        double topK = c.router().topK();
        double routed = topK * c.sizes().width();
        double[] s = new double[c.sharedWidths().size()];
        switch (c.merge().convention()) {
            case "equal-branch-mass" -> Arrays.fill(s, 0.5);
            case "width-proportional" -> Arrays.fill(s, c.sharedWidth() / (routed + c.sharedWidth()));
            case "scaled" -> Arrays.fill(s, c.merge().sharedScale());
            case "active-mean" -> Arrays.fill(s, 1 / (topK + 1));
            case "sigmoid-gated" -> sigmoids(gates(c, token), s);
            case "shared-router" -> sharedRouter(c, token, s);
            default -> Arrays.fill(s, 1);
        }
        return s;
    }

    private static double[] gates(LayerCase c, int token) {
        return products(c.parameters().get("merge.gate"), row(c.tokens(), token));
    }

    private static void sigmoids(double[] z, double[] into) {
        for (int i = 0; i < z.length; i++) {
            into[i] = 1 / (1 + StrictMath.exp(-z[i]));
        }
    }

    private static void sharedRouter(LayerCase c, int token, double[] into) {
        double[] z = gates(c, token);
        if (c.merge().score().equals("softmax")) {
            for (int i = 0; i < z.length; i++) {
                into[i] = StrictMath.exp(z[i]);
            }
        } else {
            sigmoids(z, into);
        }
        double sum = 0;
        for (double score : into) {
            sum += score;
        }
        for (int i = 0; i < into.length; i++) {
            into[i] /= sum;
        }
    }

    private static double[] expert(LayerCase c, String name, double[] x) {
        double[] gate = products(c.parameters().get(name + ".gate"), x);
        double[] up = products(c.parameters().get(name + ".up"), x);
        for (int f = 0; f < gate.length; f++) {
            gate[f] = gate[f] / (1 + StrictMath.exp(-gate[f])) * up[f];
        }
        return products(c.parameters().get(name + ".down"), gate);
    }

    private static void add(double[] into, int at, double factor, double[] values) {
        for (int i = 0; i < values.length; i++) {
            into[at + i] += factor * values[i];
        }
    }

    private static double[] row(Numbers matrix, int row) {
        return Arrays.copyOfRange(matrix.values(), row * matrix.columns(), (row + 1) * matrix.columns());
    }

    /** The product of each row with a vector. */
    private static double[] products(Numbers matrix, double[] x) {
        double[] products = new double[matrix.rows()];
        for (int i = 0; i < products.length; i++) {
            for (int j = 0; j < x.length; j++) {
                products[i] += matrix.values()[i * x.length + j] * x[j];
            }
        }
        return products;
    }
}
