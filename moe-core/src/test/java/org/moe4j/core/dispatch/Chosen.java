package org.moe4j.core.dispatch;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;

/** Experts and weights of each token, in the order of ranks, as plain arrays. */
@SuppressWarnings("ArrayRecordComponent") // test data
record Chosen(int experts, int[][] expert, double[][] weight) {
    int assignments(int from, int to) {
        int sum = 0;
        for (int t = from; t < to; t++) {
            sum += expert[t].length;
        }
        return sum;
    }

    Routing routing() {
        int[] offsets = new int[expert.length + 1];
        int[] flat = new int[assignments(0, expert.length)];
        double[] weights = new double[flat.length];
        for (int t = 0, i = 0; t < expert.length; t++) {
            for (int rank = 0; rank < expert[t].length; rank++, i++) {
                flat[i] = expert[t][rank];
                weights[i] = weight[t][rank];
            }
            offsets[t + 1] = i;
        }
        return Routing.ofVarying(experts, offsets, flat, weights);
    }

    /** Random tokens. */
    static Chosen draw(SplittableRandom random) {
        int experts = random.nextInt(5) == 0 ? 1 : random.nextInt(1, 7);
        int tokens = random.nextInt(6) == 0 ? random.nextInt(2) : random.nextInt(0, 24);
        int kind = random.nextInt(5);
        int topK = kind == 0 ? 1 : kind == 1 ? experts : random.nextInt(1, experts + 1);
        boolean crowd = random.nextInt(8) == 0;
        boolean ties = random.nextBoolean();
        int[][] chosen = new int[tokens][];
        double[][] weights = new double[tokens][];
        for (int t = 0; t < tokens; t++) {
            List<Integer> order = new ArrayList<>();
            for (int e = 0; e < experts; e++) {
                order.add(e);
            }
            for (int e = experts - 1; e > 0 && !crowd; e--) {
                Collections.swap(order, e, random.nextInt(e + 1));
            }
            int count = kind == 4 ? random.nextInt(experts + 1) : topK;
            chosen[t] = order.subList(0, count).stream().mapToInt(e -> e).toArray();
            weights[t] = new double[count];
            for (int rank = 0; rank < count; rank++) {
                weights[t][rank] = ties ? random.nextInt(4) * 0.25 : random.nextDouble();
            }
        }
        return new Chosen(experts, chosen, weights);
    }

    /** Lengths of sequences, some of them 0, that make up the tokens. */
    static List<Integer> lengths(SplittableRandom random, int tokens) {
        List<Integer> lengths = new ArrayList<>();
        for (int left = tokens; left > 0; left -= lengths.get(lengths.size() - 1)) {
            lengths.add(random.nextInt(left + 1));
        }
        return lengths;
    }
}
