package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/** Where the tokens of a case go once the router chose and the capacity dropped: no code of the library is used. */
final class TokenwiseRoutes {
    private TokenwiseRoutes() {}

    /**
     * What multiplies, before the merge.
     *
     * @param weights T×E: what is left of the router's weight of each expert; 0 for what was not chosen or dropped
     * @param passed T: what multiplies the token itself, where no expert took it
     */
    @SuppressWarnings("ArrayRecordComponent") // test data
    record Routes(double[][] weights, double[] passed) {}

    /** Logits of a token, E numbers. */
    static double[] logits(LayerCase c, int token) {
        double[] logits = Plain.products(c.parameters().get("router.weight"), Plain.row(c.tokens(), token));
        for (int e = 0; c.router().logitBias() && e < logits.length; e++) {
            logits[e] += c.parameters().get("router.bias").values()[e];
        }
        return logits;
    }

    /** What the router chose for every token. */
    static List<Choice> choices(LayerCase c) {
        List<Choice> choices = new ArrayList<>();
        for (int t = 0; t < c.sizes().tokens(); t++) {
            choices.add(TokenwiseRouter.route(c.router(), logits(c, t)));
        }
        return choices;
    }

    static Routes of(LayerCase c) {
        List<Choice> choices = choices(c);
        double[][] weights = new double[choices.size()][c.router().experts()];
        double[] passed = new double[choices.size()];
        boolean[][] kept = c.capacity()
                .map(words -> TokenwiseCapacity.kept(words, choices, c.router().experts(), List.of()))
                .orElse(new boolean[0][]);
        for (int t = 0; t < weights.length; t++) {
            Choice choice = choices.get(t);
            for (int rank = 0; rank < choice.experts().length; rank++) {
                if (c.capacity().isEmpty() || kept[t][rank]) {
                    weights[t][choice.experts()[rank]] = choice.weights()[rank];
                }
            }
            if (c.capacity().isPresent()) {
                passed[t] = passed(c.capacity().get(), choice, kept[t]);
                weighAgain(c.capacity().get(), weights[t]);
            }
        }
        return new Routes(weights, passed);
    }

    private static double passed(CapacityWords words, Choice choice, boolean[] kept) {
        double sum = 0;
        for (int rank = 0; rank < kept.length; rank++) {
            if (kept[rank]) {
                return 0;
            }
            sum += choice.weights()[rank];
        }
        return switch (words.unserved()) {
            case "zero" -> 0;
            case "passed" -> 1;
            case "passed-weighted" -> sum;
            default -> throw new IllegalArgumentException("unserved " + words.unserved());
        };
    }

    private static void weighAgain(CapacityWords words, double[] weights) {
        double sum = 0;
        for (double weight : weights) {
            sum += weight;
        }
        for (int e = 0; words.keptWeights().equals("unit-sum") && sum != 0 && e < weights.length; e++) {
            weights[e] /= sum;
        }
    }

    /** The smallest distance of any token to a jump or a kink of its routing. */
    static double gap(LayerCase c) {
        double gap = Double.POSITIVE_INFINITY;
        for (int t = 0; t < c.sizes().tokens(); t++) {
            gap = Math.min(gap, TokenwiseRouter.gap(c.router(), logits(c, t)));
        }
        List<Choice> choices = choices(c);
        return Math.min(
                gap,
                c.capacity().map(words -> TokenwiseCapacity.gap(words, choices)).orElse(gap));
    }
}
