package org.moe4j.router.analysis.token;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.TreeSet;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.TopKPass;
import org.moe4j.router.TopKRouter;

/**
 * Who gets a gradient of {@code Σ output ⊙ dOutput}. With softmax over all experts and no renormalisation every row of the router
 * gets one, because each weight has every logit in its denominator; of the experts those alone that some token goes to
 * (the article on OLMoE-1B-7B, LLM Architecture Refresh 5, §9).
 *
 * @param routerRows how many of the E rows of the router's weight have a gradient that is not all zeros
 * @param experts which experts have a weight with a gradient that is not all zeros, ascending
 * @param chosen which experts some token goes to, ascending
 * @param largest the largest entry of the gradient of the router's weight, without its sign
 * @param formulaDifference the largest difference between an entry of that gradient and {@link #logitGradients} times the tokens;
 *     empty for a layer that is not plain: another router than {@link TopKRouter}, with another score than softmax, another selection
 *     than the K largest, a renormalisation or losses, a capacity, or weights on the input
 */
public record GradientReach(
        int routerRows, List<Integer> experts, List<Integer> chosen, double largest, OptionalDouble formulaDifference) {
    /**
     * Copies the lists.
     *
     * @param routerRows rows of the router with a gradient
     * @param experts experts with a gradient
     * @param chosen experts that some token goes to
     * @param largest largest entry of the gradient of the router's weight
     * @param formulaDifference largest difference from the formula
     */
    public GradientReach {
        experts = List.copyOf(experts);
        chosen = List.copyOf(chosen);
    }

    /**
     * Softmax weights without renormalisation, the chosen set held fixed:
     * {@code ∂L/∂z_j = Σ_{e chosen} g_e w_e (δ_ej − p_j)} with {@code w_e} the weight, {@code p_e} times the router's scale. It is what
     * remains of the derivative of {@code Σ_e w_e g_e}.
     *
     * @param scores E numbers p: softmax of the logits
     * @param chosen the experts of the token
     * @param weights one for each of them
     * @param g one for each of them: {@code ∂L/∂y · FFN_e(x)}
     * @return E numbers
     * @throws IllegalArgumentException for weights or gradients of another length
     */
    public static double[] logitGradients(double[] scores, int[] chosen, double[] weights, double[] g) {
        Require.count("weights", weights.length, chosen.length, "numbers (one per chosen expert)");
        Require.count("g", g.length, chosen.length, "numbers (one per chosen expert)");
        for (int expert : chosen) {
            Objects.checkIndex(expert, scores.length);
        }
        double[] gradients = new double[scores.length];
        double sum = 0;
        for (int i = 0; i < chosen.length; i++) {
            sum += g[i] * weights[i];
            gradients[chosen[i]] += g[i] * weights[i];
        }
        for (int j = 0; j < scores.length; j++) {
            gradients[j] -= sum * scores[j];
        }
        return gradients;
    }

    /**
     * Runs a layer forward and backward, without noise.
     *
     * @param layer with a router that has a parameter {@code weight} (E×D)
     * @param tokens (T×D), finite
     * @param dOutput (T×D)
     * @return who got a gradient
     */
    public static GradientReach of(MoeLayer layer, Matrix tokens, Matrix dOutput) {
        try (MoePass pass = layer.forward(tokens);
                Gradients gradients = pass.backward(dOutput)) {
            pass.output().close();
            Parameters all = gradients.parameters();
            double[] ofRouter = all.get("router.weight").toArray();
            int experts = pass.routing().experts();
            double largest = 0;
            for (double entry : ofRouter) {
                largest = Math.max(largest, Math.abs(entry));
            }
            return new GradientReach(
                    rows(ofRouter, experts),
                    reached(all.under("experts"), experts),
                    chosen(pass.routing()),
                    largest,
                    isPlain(layer, pass)
                            ? OptionalDouble.of(difference(ofRouter, byHand(layer, pass, tokens, dOutput)))
                            : OptionalDouble.empty());
        }
    }

    private static int rows(double[] matrix, int rows) {
        int count = 0;
        int width = matrix.length / rows;
        for (int row = 0; row < rows; row++) {
            count += isZero(matrix, row * width, (row + 1) * width) ? 0 : 1;
        }
        return count;
    }

    private static boolean isZero(double[] numbers, int from, int to) {
        for (int i = from; i < to; i++) {
            if (numbers[i] != 0) {
                return false;
            }
        }
        return true;
    }

    private static List<Integer> reached(Parameters gradients, int experts) {
        List<Integer> reached = new ArrayList<>();
        for (int e = 0; e < experts; e++) {
            Parameters own = gradients.under(Integer.toString(e));
            boolean any = own.names().stream()
                    .map(name -> own.get(name).toArray())
                    .anyMatch(gradient -> !isZero(gradient, 0, gradient.length));
            if (any) {
                reached.add(e);
            }
        }
        return reached;
    }

    private static List<Integer> chosen(Routing routing) {
        TreeSet<Integer> chosen = new TreeSet<>();
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                chosen.add(routing.expert(t, rank));
            }
        }
        return List.copyOf(chosen);
    }

    private static boolean isPlain(MoeLayer layer, MoePass pass) {
        if (!(layer.router() instanceof TopKRouter router) || layer.capacity() instanceof Capacity.Limited) {
            return false;
        }
        RouterConfig config = router.config();
        return config.score() instanceof ScoreFunction.Softmax
                && config.selection() instanceof ExpertSelection.PlainTopK
                && config.renormalization() instanceof Renormalization.None
                && layer.weightPlace() == WeightPlace.OUTPUT
                && ((TopKPass) pass.routerPass()).losses().isEmpty();
    }

    /** {@code dW_r = Σ_t (∂L/∂z_t) x_tᵀ} by the formula. */
    private static double[] byHand(MoeLayer layer, MoePass pass, Matrix tokens, Matrix dOutput) {
        Routing routing = pass.routing();
        int experts = routing.experts();
        int width = tokens.columns();
        double[] scores = ((TopKPass) pass.routerPass()).scores();
        double[] sum = new double[experts * width];
        double[] x = new double[width];
        double[] dY = new double[width];
        double[] p = new double[experts];
        for (int t = 0; t < routing.tokens(); t++) {
            tokens.readRows(t, t + 1, x);
            dOutput.readRows(t, t + 1, dY);
            double[][] rows = ExpertRows.of(layer, tokens, t, routing);
            int[] chosen = new int[rows.length];
            double[] weights = new double[rows.length];
            double[] g = new double[rows.length];
            for (int rank = 0; rank < rows.length; rank++) {
                chosen[rank] = routing.expert(t, rank);
                weights[rank] = pass.coefficients().routed(t, rank);
                for (int i = 0; i < width; i++) {
                    g[rank] += dY[i] * rows[rank][i];
                }
            }
            System.arraycopy(scores, t * experts, p, 0, experts);
            double[] dLogits = logitGradients(p, chosen, weights, g);
            for (int i = 0; i < sum.length; i++) {
                sum[i] += dLogits[i / width] * x[i % width];
            }
        }
        return sum;
    }

    private static double difference(double[] first, double[] second) {
        double largest = 0;
        for (int i = 0; i < first.length; i++) {
            largest = Math.max(largest, Math.abs(first[i] - second[i]));
        }
        return largest;
    }
}
