package org.moe4j.router.loss;

import java.util.ArrayList;
import java.util.List;

/** Counts and summed scores of each group of one layer, and the way back from their gradients to the logits. */
final class BalanceSums {
    private final RoutedTokens layer;
    private final Scores kind;
    private final TokenGroups groups;
    private final double[] scores;
    private final double[] divisors; // of the scores of each token
    private final List<GroupSums> sums = new ArrayList<>();

    BalanceSums(RoutedTokens layer, Counts counted, Scores kind, TokenGroups groups) {
        this.layer = layer;
        this.kind = kind;
        this.groups = groups;
        divisors = new double[layer.routing().tokens()];
        scores = kind.of(layer, groups, divisors);
        for (int g = 0; g < groups.groups(); g++) {
            GroupSums group = new GroupSums(layer.routing().experts(), layer.topK());
            group.add(layer.routing(), counted, scores, groups, g);
            sums.add(group);
        }
    }

    /** One for each group of tokens. */
    List<GroupSums> groups() {
        return sums;
    }

    static double product(double[] counts, double[] sums) {
        double product = 0;
        for (int e = 0; e < counts.length; e++) {
            product += counts[e] * sums[e];
        }
        return product;
    }

    static void add(double[] numbers, double[] to) {
        for (int e = 0; e < to.length; e++) {
            to[e] += numbers[e];
        }
    }

    /** Adds the gradients of {@code Σ_g weights_g Σ_e counted_ge Σ_t u_te}, the counts being constant. */
    void addGradients(double[] weights, double[][] counted, LogitGradients into) {
        int experts = layer.routing().experts();
        double[] dScores = new double[scores.length];
        for (int g = 0; g < groups.groups(); g++) {
            for (int t = groups.from(g); t < groups.to(g); t++) {
                for (int e = 0; e < experts && groups.valid(t); e++) {
                    dScores[t * experts + e] = weights[g] * counted[g][e];
                }
            }
        }
        kind.addGradients(layer, scores, divisors, dScores, into.logits());
    }
}
