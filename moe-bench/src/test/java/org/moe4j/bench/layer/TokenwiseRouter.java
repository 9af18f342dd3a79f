package org.moe4j.bench.layer;

import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.moe4j.bench.layer.RouterWords.Groups;
import org.moe4j.bench.layer.RouterWords.Weighing;

/** What the words of a router mean for the logits of one token, by loops on arrays: no code of the library is used. */
final class TokenwiseRouter {
    private static final String SUM_OF_TOP = "sum-of-top-";

    private TokenwiseRouter() {}

    /** Experts, best first, and the weight of each. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    record Choice(int[] experts, double[] weights) {}

    static Choice route(RouterWords words, double[] logits) {
        return weigh(words, logits, best(choiceScores(words, logits), words.topK()));
    }

    /** Weights of experts, whoever chose them. */
    static Choice weigh(RouterWords words, double[] logits, int[] selected) {
        double[] scores = scores(words, logits);
        double[] taken = new double[selected.length];
        for (int rank = 0; rank < taken.length; rank++) {
            taken[rank] = words.byLogits() ? logits[selected[rank]] : scores[selected[rank]];
        }
        double[] weights = weights(words.weighing(), taken);
        for (int rank = 0; rank < weights.length; rank++) {
            weights[rank] *= words.scale();
        }
        return new Choice(selected, weights);
    }

    /** The experts of a token, whatever their order. */
    static Set<Integer> selected(RouterWords words, double[] logits) {
        Set<Integer> selected = new TreeSet<>();
        for (int expert : route(words, logits).experts()) {
            selected.add(expert);
        }
        return selected;
    }

    /** What experts are ranked by, once the closed groups have got their fill. */
    static double[] choiceScores(RouterWords words, double[] logits) {
        double[] ranked = ranked(words, logits);
        if (words.groups().isEmpty() || !words.groups().get().restrict()) {
            return ranked;
        }
        Groups groups = words.groups().get();
        boolean[] open = open(groups, groupScores(words, ranked));
        int size = words.experts() / groups.count();
        for (int e = 0; e < ranked.length; e++) {
            ranked[e] = open[e / size] ? ranked[e] : fill(groups);
        }
        return ranked;
    }

    static double[] scores(RouterWords words, double[] logits) {
        double[] scores = new double[logits.length];
        double sum = 0;
        for (int e = 0; e < scores.length; e++) {
            double power = StrictMath.exp(logits[e]);
            sum += power;
            scores[e] = switch (words.score()) {
                case "softmax" -> power;
                case "sigmoid" -> power / (1 + power) + words.scoreEpsilon();
                case "sqrt-softplus" -> Math.sqrt(StrictMath.log1p(power));
                default -> throw new IllegalArgumentException("score " + words.score());
            };
        }
        for (int e = 0; words.score().equals("softmax") && e < scores.length; e++) {
            scores[e] /= sum;
        }
        return scores;
    }

    private static double[] ranked(RouterWords words, double[] logits) {
        double[] ranked = words.byLogits() ? logits.clone() : scores(words, logits);
        for (int e = 0; e < words.selectionBias().size(); e++) {
            ranked[e] += words.selectionBias().get(e);
        }
        return ranked;
    }

    private static double[] groupScores(RouterWords words, double[] ranked) {
        Groups groups = words.groups().orElseThrow();
        int size = words.experts() / groups.count();
        int added = added(groups, words.topK());
        double[] scores = new double[groups.count()];
        for (int g = 0; g < scores.length; g++) {
            double[] members = Arrays.copyOfRange(ranked, g * size, (g + 1) * size);
            Arrays.sort(members);
            for (int i = 0; i < added; i++) {
                scores[g] += members[size - 1 - i];
            }
        }
        return scores;
    }

    /** How many of its best experts a group is ranked by. */
    private static int added(Groups groups, int topK) {
        if (groups.score().startsWith(SUM_OF_TOP)) {
            return Integer.parseInt(groups.score().substring(SUM_OF_TOP.length()));
        }
        return switch (groups.score()) {
            case "max" -> 1;
            case "top-k-per-kept-group" -> topK / groups.kept();
            default -> throw new IllegalArgumentException("group score " + groups.score());
        };
    }

    private static boolean[] open(Groups groups, double[] groupScores) {
        boolean[] open = new boolean[groups.count()];
        for (int group : best(groupScores, groups.kept())) {
            open[group] = true;
        }
        return open;
    }

    private static double fill(Groups groups) {
        return switch (groups.fill()) {
            case "minus-infinity" -> Double.NEGATIVE_INFINITY;
            case "zero" -> 0;
            default -> throw new IllegalArgumentException("fill " + groups.fill());
        };
    }

    /** Count times the largest that is left, of equal ones the first. */
    static int[] best(double[] values, int count) {
        int[] best = new int[count];
        boolean[] gone = new boolean[values.length];
        for (int rank = 0; rank < count; rank++) {
            int largest = -1;
            for (int i = 0; i < values.length; i++) {
                if (!gone[i] && (largest < 0 || values[i] > values[largest])) {
                    largest = i;
                }
            }
            best[rank] = largest;
            gone[largest] = true;
        }
        return best;
    }

    private static double[] weights(Weighing weighing, double[] taken) {
        boolean powers = weighing.renormalization().equals("softmax-of-selected");
        double added = weighing.place().equals("per-score") ? weighing.epsilon() : 0;
        double[] weights = new double[taken.length];
        for (int j = 0; j < weights.length; j++) {
            weights[j] = powers ? StrictMath.exp(taken[j]) : taken[j] + added;
        }
        double divisor = divisor(weighing, weights);
        for (int j = 0; j < weights.length; j++) {
            weights[j] /= divisor;
        }
        return weights;
    }

    private static double divisor(Weighing weighing, double[] parts) {
        double sum = 0;
        double sumOfPowers = 0;
        for (double part : parts) {
            sum += part;
            sumOfPowers += StrictMath.pow(part, weighing.p());
        }
        return switch (weighing.renormalization()) {
            case "none" -> 1;
            case "softmax-of-selected" -> sum;
            case "norm" -> StrictMath.pow(sumOfPowers, 1 / weighing.p());
            case "sum" ->
                switch (weighing.place()) {
                    case "in-sum" -> sum + weighing.epsilon();
                    case "per-score" -> sum;
                    case "floor" -> Math.max(sum, weighing.epsilon());
                    default -> throw new IllegalArgumentException("place " + weighing.place());
                };
            default -> throw new IllegalArgumentException("renormalization " + weighing.renormalization());
        };
    }

    /**
     * The smallest distance to where the token's weights jump or have a kink: between a kept and a refused expert, between a
     * kept and a closed group, and between the sum of scores and the floor below it. Two fills are the same number in every
     * precision; between them there is nothing to flip.
     */
    static double gap(RouterWords words, double[] logits) {
        double[] choiceScores = choiceScores(words, logits);
        boolean[] filled = new boolean[choiceScores.length];
        double gap = Double.POSITIVE_INFINITY;
        if (words.groups().isPresent() && words.groups().get().restrict()) {
            Groups groups = words.groups().get();
            double[] scores = groupScores(words, ranked(words, logits));
            boolean[] open = open(groups, scores);
            gap = between(scores, open, new boolean[scores.length]);
            for (int e = 0; e < filled.length; e++) {
                filled[e] = !open[e / (words.experts() / groups.count())];
            }
        }
        boolean[] kept = new boolean[choiceScores.length];
        double sum = 0;
        double[] scores = scores(words, logits);
        for (int expert : best(choiceScores, words.topK())) {
            kept[expert] = true;
            sum += scores[expert];
        }
        gap = Math.min(gap, between(choiceScores, kept, filled));
        boolean floor = words.weighing().place().equals("floor");
        return floor ? Math.min(gap, Math.abs(sum - words.weighing().epsilon())) : gap;
    }

    private static double between(double[] values, boolean[] kept, boolean[] filled) {
        double gap = Double.POSITIVE_INFINITY;
        for (int i = 0; i < values.length; i++) {
            for (int j = 0; kept[i] && j < values.length; j++) {
                if (!kept[j] && !(filled[i] && filled[j])) {
                    gap = Math.min(gap, values[i] - values[j]);
                }
            }
        }
        return gap;
    }
}
