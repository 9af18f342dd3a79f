package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/** Which assignments a limit keeps, one after another: no code of the library is used. */
final class TokenwiseCapacity {
    private final CapacityWords words;
    private final List<Choice> choices;
    private final int experts;
    private final boolean[][] kept;

    private TokenwiseCapacity(CapacityWords words, List<Choice> choices, int experts) {
        this.words = words;
        this.choices = choices;
        this.experts = experts;
        kept = new boolean[choices.size()][];
        for (int t = 0; t < kept.length; t++) {
            kept[t] = new boolean[choices.get(t).experts().length];
        }
    }

    /** One rank of a token. */
    private record Assignment(int token, int rank) {}

    /**
     * For every token and rank whether the expert took it.
     *
     * @param sequences lengths that add up to the tokens; empty for one sequence
     */
    static boolean[][] kept(CapacityWords words, List<Choice> choices, int experts, List<Integer> sequences) {
        TokenwiseCapacity capacity = new TokenwiseCapacity(words, choices, experts);
        groups(words, choices.size(), sequences).forEach(capacity::fill);
        return capacity.kept;
    }

    /** The tokens of each group. */
    static List<List<Integer>> groups(CapacityWords words, int tokens, List<Integer> sequences) {
        List<List<Integer>> groups = new ArrayList<>();
        int from = 0;
        while (from < tokens) {
            int left = tokens - from;
            int size =
                    switch (words.scope()) {
                        case "batch" -> left;
                        case "sequences" -> sequences.isEmpty() ? left : sequences.get(groups.size());
                        default -> Math.min(left, Integer.parseInt(words.scope()));
                    };
            groups.add(IntStream.range(from, from + size).boxed().toList());
            from += size;
        }
        return groups;
    }

    private void fill(List<Integer> group) {
        List<Assignment> all = inOrder(group);
        double rows = rows(words.rows(), group.size(), all.size(), experts);
        int[] taken = new int[experts];
        for (Assignment next : all) {
            int expert = choices.get(next.token()).experts()[next.rank()];
            if (taken[expert] < rows) {
                taken[expert]++;
                kept[next.token()][next.rank()] = true;
            }
        }
    }

    /** Rows of an expert. */
    static double rows(CapacityWords.Rows limit, int tokens, int assignments, int experts) {
        if (limit.fixed() > 0) {
            return limit.fixed();
        }
        double exact =
                switch (limit.share()) {
                    case "assignments" -> (double) assignments / experts * limit.factor();
                    case "assignments-factor-first" -> assignments * limit.factor() / experts;
                    case "tokens" -> tokens * limit.factor() / experts;
                    default -> throw new IllegalArgumentException("share " + limit.share());
                };
        double whole =
                switch (limit.rounding()) {
                    case "up" -> Math.ceil(exact);
                    case "down" -> Math.floor(exact);
                    case "half-even" -> Math.rint(exact);
                    default -> throw new IllegalArgumentException("rounding " + limit.rounding());
                };
        if (limit.minimum() > 0 && whole <= limit.minimum()) {
            return limit.minimum();
        }
        if (whole == 0 && limit.zeroRows().equals("no-limit")) {
            return Double.POSITIVE_INFINITY;
        }
        return Math.ceil(whole / limit.multipleOf()) * limit.multipleOf();
    }

    private List<Assignment> inOrder(List<Integer> group) {
        List<Assignment> all = new ArrayList<>();
        for (int t : group) {
            for (int rank = 0; rank < choices.get(t).experts().length; rank++) {
                all.add(new Assignment(t, rank));
            }
        }
        Comparator<Assignment> byRank = Comparator.comparingInt(Assignment::rank);
        Comparator<Assignment> byLargest = Comparator.comparingDouble(each -> -largest(choices.get(each.token())));
        Comparator<Assignment> byWeight =
                Comparator.comparingDouble(each -> -choices.get(each.token()).weights()[each.rank()]);
        switch (words.order()) { // sorting is stable: equal ones stay in the order of tokens and ranks
            case "position" -> {}
            case "weight" -> all.sort(byWeight);
            case "choice" -> all.sort(byRank);
            case "batch-priority" -> all.sort(byRank.thenComparing(byLargest));
            default -> throw new IllegalArgumentException("order " + words.order());
        }
        return all;
    }

    private static double largest(Choice choice) {
        return DoubleStream.of(choice.weights()).max().orElse(Double.NEGATIVE_INFINITY);
    }

    /**
     * The smallest distance of two numbers of one expert that the order depends on, whatever the groups; infinite when it
     * depends on none.
     */
    static double gap(CapacityWords words, List<Choice> choices, int experts) {
        double gap = Double.POSITIVE_INFINITY;
        for (int e = 0; e < experts; e++) {
            double[] sorted = compared(words, choices, e).sorted().toArray();
            for (int i = 1; i < sorted.length; i++) {
                gap = Math.min(gap, sorted[i] - sorted[i - 1]);
            }
        }
        return gap;
    }

    private static DoubleStream compared(CapacityWords words, List<Choice> choices, int expert) {
        DoubleStream.Builder numbers = DoubleStream.builder();
        for (Choice choice : choices) {
            for (int rank = 0; rank < choice.experts().length; rank++) {
                if (choice.experts()[rank] == expert && words.order().equals("weight")) {
                    numbers.add(choice.weights()[rank]);
                }
                if (choice.experts()[rank] == expert && words.order().equals("batch-priority")) {
                    numbers.add(largest(choice));
                }
            }
        }
        return numbers.build();
    }
}
