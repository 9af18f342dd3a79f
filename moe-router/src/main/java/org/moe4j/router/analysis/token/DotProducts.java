package org.moe4j.router.analysis.token;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.RouterPrecision;
import org.moe4j.router.TopKRouter;

/**
 * A token's logits beside the plain dot products they ought to be, {@code z_e = Σ_i w_ei x_i} (and a bias where the router has one),
 * added in {@code double} in the order of the columns: the article on OLMoE-1B-7B (LLM Architecture Refresh 5), §2.
 *
 * <p>A logit <em>matches</em> where rounding explains the difference: with unit roundoff u of the products and sums, in whatever order
 * they were added, at most {@code (D + 2)·u·(Σ_i |w_ei x_i| + |b_e|)}, u being at least 2⁻⁵³ for the sums here.
 *
 * @param byHand E dot products
 * @param given the router's E logits
 * @param matching how many match
 */
public record DotProducts(List<Double> byHand, List<Double> given, int matching) {
    private static final double DOUBLE_ROUNDOFF = 0x1p-53;

    /**
     * Copies the lists.
     *
     * @param byHand E dot products
     * @param given the router's E logits
     * @param matching how many match
     */
    public DotProducts {
        byHand = List.copyOf(byHand);
        given = List.copyOf(given);
        Require.count("byHand", byHand.size(), given.size(), "dot products (one per logit)");
    }

    /**
     * The logits that a router has for a token, without noise.
     *
     * @param router with its parameters open
     * @param tokens (T×D)
     * @param token 0 ≤ token &lt; T
     * @return the comparison
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public static DotProducts of(TopKRouter router, Matrix tokens, int token) {
        Objects.checkIndex(token, tokens.rows());
        int experts = router.experts();
        double[] logits = new double[experts];
        System.arraycopy(router.route(tokens, RoutingContext.plain()).logits(), token * experts, logits, 0, experts);
        double[] x = new double[tokens.columns()];
        tokens.readRows(token, token + 1, x);
        boolean inDouble = router.config().precision() == RouterPrecision.DOUBLE;
        double roundoff = inDouble ? DOUBLE_ROUNDOFF : tokens.backend().unitRoundoff();
        try (Parameters parameters = router.parameters()) {
            double[] bias = router.config().logitBias() ? parameters.get("bias").toArray() : new double[experts];
            return of(x, parameters.get("weight").toArray(), bias, logits, roundoff);
        }
    }

    /**
     * Logits of any origin.
     *
     * @param token D numbers
     * @param weight E·D numbers, row after row
     * @param bias E numbers
     * @param logits E numbers, as somebody computed them
     * @param roundoff u of that computation, as 2⁻²⁴ for single precision
     * @return the comparison
     * @throws IllegalArgumentException for a bias or weights of another length
     */
    public static DotProducts of(double[] token, double[] weight, double[] bias, double[] logits, double roundoff) {
        Require.count("bias", bias.length, logits.length, "numbers (experts)");
        Require.count("weight", weight.length, (long) logits.length * token.length, "numbers (E x D)");
        List<Double> byHand = new ArrayList<>();
        List<Double> given = new ArrayList<>();
        int matching = 0;
        for (int e = 0; e < logits.length; e++) {
            double sum = 0;
            double size = Math.abs(bias[e]);
            for (int i = 0; i < token.length; i++) {
                double product = weight[e * token.length + i] * token[i];
                sum += product;
                size += Math.abs(product);
            }
            sum += bias[e];
            byHand.add(sum);
            given.add(logits[e]);
            double allowed = (token.length + 2) * Math.max(roundoff, DOUBLE_ROUNDOFF) * size;
            matching += Math.abs(logits[e] - sum) <= allowed ? 1 : 0;
        }
        return new DotProducts(byHand, given, matching);
    }

    /**
     * The largest difference between a logit and its dot product.
     *
     * @return at least 0
     */
    public double largestDifference() {
        double largest = 0;
        for (int e = 0; e < given.size(); e++) {
            largest = Math.max(largest, Math.abs(given.get(e) - byHand.get(e)));
        }
        return largest;
    }
}
