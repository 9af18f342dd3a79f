package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/** What the words of a router choose for all tokens of a call: no code of the library is used. */
final class TokenwiseChoosing {
    private static final double EPSILON = 1e-8; // of sinkhorn in Megatron-Core's moe_utils.py

    private final RouterWords words;
    private final List<double[]> logits;

    private TokenwiseChoosing(RouterWords words, List<double[]> logits) {
        this.words = words;
        this.logits = logits;
    }

    /**
     * The experts of each token and their weights.
     *
     * @param second experts that were drawn, one for each token; none when nothing is drawn
     * @param lengths of sequences
     */
    static List<Choice> of(RouterWords words, List<double[]> logits, int[] second, List<Integer> lengths) {
        TokenwiseChoosing choosing = new TokenwiseChoosing(words, logits);
        return switch (words.choosing().rule()) {
            case "top-k", "top-two-all" -> choosing.one(new int[0]);
            case "top-two-random" -> choosing.first(second);
            case "top-two-sampled" -> choosing.one(second);
            case "sinkhorn" -> choosing.sinkhorn();
            case "expert-choice" -> choosing.expertChoice(lengths);
            default -> throw new IllegalArgumentException("choosing " + words.choosing());
        };
    }

    /** Token by token; what was drawn stands in the second place. */
    private List<Choice> one(int[] second) {
        List<Choice> choices = new ArrayList<>();
        for (int t = 0; t < logits.size(); t++) {
            int[] selected = TokenwiseRouter.best(TokenwiseRouter.choiceScores(words, logits.get(t)), words.topK());
            if (second.length > 0) {
                selected[1] = second[t];
            }
            choices.add(TokenwiseRouter.weigh(words, logits.get(t), selected));
        }
        return choices;
    }

    /** Weights of both, and the second left out where none was drawn. */
    private List<Choice> first(int[] second) {
        List<Choice> choices = one(new int[0]);
        for (int t = 0; t < second.length; t++) {
            if (second[t] < 0) {
                Choice both = choices.get(t);
                choices.set(t, new Choice(Arrays.copyOf(both.experts(), 1), Arrays.copyOf(both.weights(), 1)));
            }
        }
        return choices;
    }

    private List<Choice> sinkhorn() {
        double[][] balanced = balanced();
        List<Choice> choices = new ArrayList<>();
        for (int t = 0; t < balanced.length; t++) {
            choices.add(TokenwiseRouter.weigh(words, logits.get(t), TokenwiseRouter.best(balanced[t], words.topK())));
        }
        return choices;
    }

    /** The exponentials of logits, rows and columns made equal by turns: {@code sinkhorn} in Megatron-Core's moe_utils.py. */
    private double[][] balanced() {
        int tokens = logits.size();
        int experts = words.experts();
        double[][] powers = logits.stream()
                .map(row -> Arrays.stream(row).map(StrictMath::exp).toArray())
                .toArray(double[][]::new);
        double[] d0 = new double[tokens];
        double[] d1 = new double[experts];
        Arrays.fill(d1, 1);
        double change = Double.POSITIVE_INFINITY;
        while (change > words.choosing().number() && tokens > 0) {
            change = 0;
            for (int t = 0; t < tokens; t++) {
                double sum = EPSILON;
                for (int e = 0; e < experts; e++) {
                    sum += d1[e] * powers[t][e];
                }
                d0[t] = 1 / (tokens * sum);
            }
            for (int e = 0; e < experts; e++) {
                double sum = EPSILON;
                for (int t = 0; t < tokens; t++) {
                    sum += d0[t] * powers[t][e];
                }
                double next = 1 / (experts * sum);
                change += Math.abs(next - d1[e]) / experts;
                d1[e] = next;
            }
        }
        double[][] balanced = new double[tokens][experts];
        for (int t = 0; t < tokens; t++) {
            for (int e = 0; e < experts; e++) {
                balanced[t][e] = d1[e] * powers[t][e] * d0[t];
            }
        }
        return balanced;
    }

    private List<Choice> expertChoice(List<Integer> lengths) {
        List<List<Integer>> experts = new ArrayList<>();
        logits.forEach(token -> experts.add(new ArrayList<>()));
        CapacityWords rows = words.choosing().rows().orElseThrow();
        for (List<Integer> group : TokenwiseCapacity.groups(rows, logits.size(), lengths)) {
            int taken = taken(rows, group.size());
            for (int e = 0; e < words.experts(); e++) {
                int expert = e;
                double[] column =
                        group.stream().mapToDouble(t -> score(t, expert)).toArray();
                for (int best : TokenwiseRouter.best(column, taken)) {
                    experts.get(group.get(best)).add(expert);
                }
            }
        }
        return IntStream.range(0, logits.size())
                .mapToObj(t -> weighed(t, experts.get(t)))
                .toList();
    }

    private int taken(CapacityWords rows, int tokens) {
        return (int)
                Math.min(tokens, TokenwiseCapacity.rows(rows.rows(), tokens, tokens * words.topK(), words.experts()));
    }

    private double score(int token, int expert) {
        return TokenwiseRouter.choiceScores(words, logits.get(token))[expert];
    }

    private Choice weighed(int token, List<Integer> experts) {
        if (experts.isEmpty()) {
            return new Choice(new int[0], new double[0]);
        }
        experts.sort(Comparator.comparingDouble(expert -> -score(token, expert)));
        return TokenwiseRouter.weigh(
                words,
                logits.get(token),
                experts.stream().mapToInt(expert -> expert).toArray());
    }

    /** The smallest distance of any two numbers whose order decides. */
    static double gap(RouterWords words, List<double[]> logits, List<Integer> lengths) {
        TokenwiseChoosing choosing = new TokenwiseChoosing(words, logits);
        return switch (words.choosing().rule()) {
            case "sinkhorn" -> choosing.sinkhornGap();
            case "expert-choice" -> choosing.expertChoiceGap(lengths);
            default ->
                logits.stream()
                        .mapToDouble(token -> TokenwiseRouter.gap(words, token))
                        .min()
                        .orElse(Double.POSITIVE_INFINITY);
        };
    }

    /** Relative, and a third of it: where the iteration ends it may do so a step earlier or later. */
    private double sinkhornGap() {
        double gap = Double.POSITIVE_INFINITY;
        for (double[] row : balanced()) {
            double[] sorted = row.clone();
            Arrays.sort(sorted);
            int last = sorted.length - words.topK();
            if (last > 0) {
                gap = Math.min(gap, StrictMath.log(sorted[last] / sorted[last - 1]) / 3);
            }
        }
        return Math.min(gap, floorGap());
    }

    private double expertChoiceGap(List<Integer> lengths) {
        double gap = floorGap();
        CapacityWords rows = words.choosing().rows().orElseThrow();
        for (List<Integer> group : TokenwiseCapacity.groups(rows, logits.size(), lengths)) {
            int taken = taken(rows, group.size());
            for (int e = 0; taken > 0 && taken < group.size() && e < words.experts(); e++) {
                int expert = e;
                double[] sorted = group.stream()
                        .mapToDouble(t -> score(t, expert))
                        .sorted()
                        .toArray();
                gap = Math.min(gap, sorted[sorted.length - taken] - sorted[sorted.length - taken - 1]);
            }
        }
        return gap;
    }

    /** The kink of a floor below a sum is not looked for here: no case with other rules has one. */
    private double floorGap() {
        return words.weighing().place().equals("floor") ? 0 : Double.POSITIVE_INFINITY;
    }
}
