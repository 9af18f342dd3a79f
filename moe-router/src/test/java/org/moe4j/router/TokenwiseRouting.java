package org.moe4j.router;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** The definition of top-k routing for one token, on plain arrays and sorted streams. */
final class TokenwiseRouting {
    private TokenwiseRouting() {}

    static double[] softmax(double[] logits) {
        double max = Arrays.stream(logits).max().orElseThrow();
        double[] powers =
                Arrays.stream(logits).map(l -> StrictMath.exp(l - max)).toArray();
        double sum = 0;
        for (double power : powers) {
            sum += power;
        }
        double all = sum;
        return Arrays.stream(powers).map(power -> power / all).toArray();
    }

    /** Scores of all experts by the formulas of the field. */
    static double[] scores(ScoreFunction score, double[] logits) {
        if (score instanceof ScoreFunction.Softmax) {
            return softmax(logits);
        }
        return Arrays.stream(logits)
                .map(l -> score instanceof ScoreFunction.Sigmoid sigmoid
                        ? 1 / (1 + StrictMath.exp(-l)) + sigmoid.epsilon()
                        : Math.sqrt(StrictMath.log(1 + StrictMath.exp(l))))
                .toArray();
    }

    /** Choice scores with the experts of closed groups filled, by sorting groups and the members of each. */
    static double[] restricted(ExpertSelection selection, double[] choiceScores, int topK) {
        if (!(selection instanceof ExpertSelection.GroupLimited limited)) {
            return choiceScores;
        }
        int size = choiceScores.length / limited.groups();
        int m = limited.groupScore() instanceof GroupScore.Max
                ? 1
                : limited.groupScore() instanceof GroupScore.SumOfBest best ? best.m() : topK / limited.keptGroups();
        List<double[]> groups = new ArrayList<>();
        for (int g = 0; g < limited.groups(); g++) {
            double[] members = Arrays.copyOfRange(choiceScores, g * size, (g + 1) * size);
            int[] order = best(members, m);
            double sum = 0;
            for (int member : order) {
                sum += members[member];
            }
            groups.add(new double[] {sum, g});
        }
        double[] sums = groups.stream().mapToDouble(group -> group[0]).toArray();
        int[] open = best(sums, limited.keptGroups());
        double fill = limited.closedGroups() == ExpertSelection.ClosedGroups.ZERO ? 0 : Double.NEGATIVE_INFINITY;
        return IntStream.range(0, choiceScores.length)
                .mapToDouble(e -> IntStream.of(open).anyMatch(g -> g == e / size) ? choiceScores[e] : fill)
                .toArray();
    }

    /** Weights of the selected, before the scale. */
    static double[] weights(Renormalization renormalization, double[] logits, double[] scores, int[] selected) {
        double[] s = at(scores, selected);
        if (renormalization instanceof Renormalization.None) {
            return s;
        }
        if (renormalization instanceof Renormalization.SoftmaxOfSelected) {
            return softmax(at(logits, selected));
        }
        if (renormalization instanceof Renormalization.Norm norm) {
            double n = StrictMath.pow(
                    Arrays.stream(s).map(v -> StrictMath.pow(v, norm.p())).sum(), 1 / norm.p());
            return Arrays.stream(s).map(v -> v / n).toArray();
        }
        Renormalization.Sum sum = (Renormalization.Sum) renormalization;
        double epsilon = sum.epsilon();
        double all = Arrays.stream(s).sum();
        return switch (sum.place()) {
            case IN_SUM -> Arrays.stream(s).map(v -> v / (all + epsilon)).toArray();
            case PER_SCORE ->
                Arrays.stream(s)
                        .map(v -> (v + epsilon) / (all + s.length * epsilon))
                        .toArray();
            case FLOOR -> Arrays.stream(s).map(v -> v / Math.max(all, epsilon)).toArray();
        };
    }

    /** Larger first, equal ones in the order of their index; −0 is +0. */
    static int[] best(double[] scores, int topK) {
        Comparator<Integer> larger = Comparator.comparingDouble(e -> -(scores[e] + 0.0) + 0.0);
        return IntStream.range(0, scores.length)
                .boxed()
                .sorted(larger.thenComparing(Comparator.naturalOrder()))
                .limit(topK)
                .mapToInt(e -> e)
                .toArray();
    }

    static double[] at(double[] values, int[] indices) {
        return Arrays.stream(indices).mapToDouble(e -> values[e]).toArray();
    }

    static double[] unitSum(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        double all = sum;
        return Arrays.stream(values).map(value -> value / all).toArray();
    }
}
