package org.moe4j.router;

import java.util.Arrays;
import java.util.Comparator;
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
