package org.moe4j.bench.layer;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.LayerCase.Numbers;

/**
 * A whole layer by its definition, one token after another on plain arrays: it shares no code with the library, and
 * none with the helpers of other tests.
 */
final class TokenwiseLayer {
    private TokenwiseLayer() {}

    /** Softmax over all experts, T·E numbers. */
    static double[] scores(LayerCase c) {
        int experts = c.sizes().experts();
        double[] scores = new double[c.sizes().tokens() * experts];
        for (int t = 0; t < c.sizes().tokens(); t++) {
            double sum = 0;
            for (int e = 0; e < experts; e++) {
                double logit = product(
                        c.parameters().get("router.weight").row(e), c.tokens().row(t));
                scores[t * experts + e] = StrictMath.exp(logit);
                sum += scores[t * experts + e];
            }
            for (int e = 0; e < experts; e++) {
                scores[t * experts + e] /= sum;
            }
        }
        return scores;
    }

    /** Output of the layer, T·D numbers. */
    static double[] output(LayerCase c) {
        int d = c.sizes().hidden();
        double[] y = new double[c.sizes().tokens() * d];
        double[][] routed = routedCoefficients(c);
        for (int t = 0; t < c.sizes().tokens(); t++) {
            double[] x = c.tokens().row(t);
            for (int e = 0; e < c.sizes().experts(); e++) {
                add(y, t * d, routed[t][e], expert(c, "experts." + e, x));
            }
            for (int i = 0; i < c.sharedWidths().size(); i++) {
                add(y, t * d, sharedCoefficient(c, x), expert(c, "shared." + i, x));
            }
        }
        return y;
    }

    /** r_te for every token and expert: 0 for what was not chosen or dropped. */
    static double[][] routedCoefficients(LayerCase c) {
        int experts = c.sizes().experts();
        int topK = c.sizes().topK();
        double[] scores = scores(c);
        double[][] r = new double[c.sizes().tokens()][experts];
        int[] taken = new int[experts];
        double limit = c.capacity().isPresent()
                ? Math.ceil((double) (c.sizes().tokens() * topK)
                        / experts
                        * c.capacity().getAsDouble())
                : Double.POSITIVE_INFINITY;
        for (int t = 0; t < r.length; t++) {
            int row = t * experts;
            int[] best = IntStream.range(0, experts)
                    .boxed()
                    .sorted(Comparator.comparingDouble((Integer e) -> -scores[row + e])
                            .thenComparing(e -> e))
                    .limit(topK)
                    .mapToInt(e -> e)
                    .toArray();
            double mass = c.renormalize()
                    ? Arrays.stream(best).mapToDouble(e -> scores[row + e]).sum()
                    : 1;
            for (int e : best) {
                if (taken[e] < limit) {
                    taken[e]++;
                    r[t][e] = routedFactor(c) * c.routerScale() * scores[row + e] / mass;
                }
            }
        }
        return r;
    }

    /** Table 37 of the report, and the fixed pair of the test. */
    private static double routedFactor(LayerCase c) {
        double routed = c.sizes().topK() * (double) c.sizes().width();
        return switch (c.merge()) {
            case "olmo" -> c.sizes().topK();
            case "equal-branch-mass" -> 0.5;
            case "width-proportional" -> routed / (routed + sharedWidth(c));
            case "scaled" -> -1.5;
            default -> 1;
        };
    }

    static double sharedCoefficient(LayerCase c, double[] x) {
        double routed = c.sizes().topK() * (double) c.sizes().width();
        return switch (c.merge()) {
            case "equal-branch-mass" -> 0.5;
            case "width-proportional" -> sharedWidth(c) / (routed + sharedWidth(c));
            case "scaled" -> 0.75;
            case "sigmoid-gated" ->
                1
                        / (1
                                + StrictMath.exp(-product(
                                        c.parameters().get("merge.gate").row(0), x)));
            default -> 1;
        };
    }

    private static double sharedWidth(LayerCase c) {
        return c.sharedWidths().stream().mapToDouble(width -> width).sum();
    }

    private static double[] expert(LayerCase c, String name, double[] x) {
        Numbers gate = c.parameters().get(name + ".gate");
        Numbers up = c.parameters().get(name + ".up");
        Numbers down = c.parameters().get(name + ".down");
        double[] hidden = new double[gate.rows()];
        for (int f = 0; f < hidden.length; f++) {
            double g = product(gate.row(f), x);
            hidden[f] = g / (1 + StrictMath.exp(-g)) * product(up.row(f), x);
        }
        double[] y = new double[x.length];
        for (int i = 0; i < y.length; i++) {
            y[i] = product(down.row(i), hidden);
        }
        return y;
    }

    private static void add(double[] into, int at, double factor, double[] values) {
        for (int i = 0; i < values.length; i++) {
            into[at + i] += factor * values[i];
        }
    }

    private static double product(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }
}
