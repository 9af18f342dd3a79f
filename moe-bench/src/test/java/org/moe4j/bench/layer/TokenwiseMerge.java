package org.moe4j.bench.layer;

import java.util.Arrays;

/** What the words of a merge mean for one token: no code of the library is used. */
final class TokenwiseMerge {
    private TokenwiseMerge() {}

    /** What the weighted sum of the routed experts is multiplied by. */
    static double routedFactor(LayerCase c) {
        double topK = c.router().topK();
        double routed = topK * c.sizes().width();
        return switch (c.merge().convention()) {
            case "olmo" -> topK;
            case "equal-branch-mass" -> 0.5;
            case "width-proportional" -> routed / (routed + c.shared().width());
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
        double[] s = new double[c.shared().widths().size()];
        switch (c.merge().convention()) {
            case "equal-branch-mass" -> Arrays.fill(s, 0.5);
            case "width-proportional" ->
                Arrays.fill(s, c.shared().width() / (routed + c.shared().width()));
            case "scaled" -> Arrays.fill(s, c.merge().sharedScale());
            case "active-mean" -> Arrays.fill(s, 1 / (topK + 1));
            case "sigmoid-gated" -> sigmoids(gates(c, token), s);
            case "shared-router" -> sharedRouter(c, token, s);
            default -> Arrays.fill(s, 1);
        }
        return s;
    }

    private static double[] gates(LayerCase c, int token) {
        return Plain.products(c.parameters().get("merge.gate"), TokenwiseRoutes.token(c, token));
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
}
