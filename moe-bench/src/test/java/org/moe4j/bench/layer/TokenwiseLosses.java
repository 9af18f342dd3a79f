package org.moe4j.bench.layer;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/** What the words of a loss mean for the tokens of one layer, each formula by itself: no code of the library is used. */
final class TokenwiseLosses {
    private final Seen seen;
    private final int experts;
    private final int topK;

    private TokenwiseLosses(Seen seen) {
        this.seen = seen;
        experts = seen.router().experts();
        topK = seen.router().topK();
    }

    /**
     * What losses see of a layer.
     *
     * @param choices of each token, before the capacity
     * @param logits of each token, with noise
     * @param clean the same without it
     * @param deviations of the noise; empty without
     * @param sequences the tokens of each
     * @param valid the tokens that count
     */
    record Seen(
            RouterWords router,
            List<Choice> choices,
            List<double[]> logits,
            List<double[]> clean,
            List<double[]> deviations,
            List<List<Integer>> sequences,
            List<Integer> valid) {

        /** Valid tokens of each sequence that has any. */
        List<List<Integer>> validSequences() {
            return sequences.stream()
                    .map(tokens -> tokens.stream().filter(valid::contains).toList())
                    .filter(tokens -> !tokens.isEmpty())
                    .toList();
        }
    }

    /** The sum of some losses. */
    static double value(List<LossWords> losses, Seen seen) {
        TokenwiseLosses room = new TokenwiseLosses(seen);
        return losses.stream()
                .mapToDouble(words -> words.coefficient() * room.formula(words.formula()))
                .sum();
    }

    private double formula(String formula) {
        if (seen.valid().isEmpty()) {
            return 0;
        }
        return switch (formula) {
            case "switch" -> meanOfSequences(tokens -> experts * products(tokens, this::first, this::scores));
            case "flaxformer" -> flaxformer();
            case "transformers" -> experts * products(seen.valid(), this::freshSoftmax, this::softmax);
            case "megatron" -> ofK(seen.valid(), this::freshScores, this::unitScores);
            case "megatron-sequence" -> megatronSequence();
            case "olmo-core" -> ofK(seen.valid(), this::chosen, this::unitScores);
            case "olmo-core-instance" -> olmoCoreInstance();
            case "deepseek-batch", "megablocks" -> ofK(seen.valid(), this::chosen, this::scores);
            case "deepseek-sequence" -> meanOfSequences(tokens -> ofK(tokens, this::chosen, this::scores));
            case "deepseek-v3" -> meanOfSequences(tokens -> ofK(tokens, this::freshScores, this::unitScores));
            case "z-loss" ->
                seen.valid().stream().mapToDouble(this::squaredLogSum).sum()
                        / seen.valid().size();
            default -> new TokenwiseVariation(seen).formula(formula);
        };
    }

    /** What each expert has of a token. */
    private interface OfToken {
        double[] of(int token);
    }

    /** {@code Σ_e f_e·P_e}, both means over tokens. */
    private double products(List<Integer> tokens, OfToken counted, OfToken score) {
        double[] counts = sum(tokens, counted);
        double[] scores = sum(tokens, score);
        double sum = 0;
        for (int e = 0; e < experts; e++) {
            sum += counts[e] / tokens.size() * scores[e] / tokens.size();
        }
        return sum;
    }

    private double ofK(List<Integer> tokens, OfToken counted, OfToken score) {
        return (double) experts / topK * products(tokens, counted, score);
    }

    private double[] sum(List<Integer> tokens, OfToken part) {
        double[] sum = new double[experts];
        tokens.forEach(t -> Plain.add(sum, 0, 1, part.of(t)));
        return sum;
    }

    private List<List<Integer>> sequences() {
        return seen.validSequences();
    }

    private double meanOfSequences(ToDoubleFunction<List<Integer>> formula) {
        return sequences().stream().mapToDouble(formula).average().orElse(0);
    }

    /** {@code E·Σ_e f_e·P_e} of each sequence, both means over all its rows; padding adds 0 to either. */
    private double flaxformer() {
        double sum = 0;
        int filled = 0;
        for (List<Integer> all : seen.sequences()) {
            List<Integer> valid = all.stream().filter(seen.valid()::contains).toList();
            double share = (double) valid.size() / Math.max(1, all.size());
            sum += valid.isEmpty() ? 0 : experts * products(valid, this::chosen, this::scores) * share * share;
            filled += all.isEmpty() ? 0 : 1;
        }
        return sum / filled;
    }

    /**
     * {@code E/(K·S²)·Σ_e c_e·Σ_t u_te} with S the mean number of tokens of a sequence that count, and the mean over sequences, of which
     * one is all padding perhaps.
     */
    private double megatronSequence() {
        long batch =
                seen.sequences().stream().filter(tokens -> !tokens.isEmpty()).count();
        double length = (double) seen.valid().size() / batch;
        double sum = 0;
        for (List<Integer> tokens : sequences()) {
            sum += ofK(tokens, this::freshScores, this::unitScores) * tokens.size() * tokens.size() / (length * length);
        }
        return sum / batch;
    }

    /** {@code E/K·Σ_b Σ_e P_be·c_be / T}, P_be the mean over the sequence b. */
    private double olmoCoreInstance() {
        double sum = 0;
        for (List<Integer> tokens : sequences()) {
            sum += ofK(tokens, this::chosen, this::unitScores) * tokens.size();
        }
        return sum / seen.valid().size();
    }

    private double squaredLogSum(int token) {
        double sum = 0;
        for (double logit : seen.logits().get(token)) {
            sum += StrictMath.exp(logit);
        }
        return StrictMath.log(sum) * StrictMath.log(sum);
    }

    private double[] scores(int token) {
        return TokenwiseRouter.scores(seen.router(), seen.logits().get(token));
    }

    private double[] unitScores(int token) {
        double[] scores = scores(token);
        double sum = DoubleStream.of(scores).sum();
        return DoubleStream.of(scores).map(score -> score / sum).toArray();
    }

    private double[] softmax(int token) {
        return Plain.softmax(seen.logits().get(token));
    }

    private double[] first(int token) {
        int[] chosen = seen.choices().get(token).experts();
        return ones(Arrays.copyOf(chosen, Math.min(1, chosen.length)));
    }

    private double[] chosen(int token) {
        return ones(seen.choices().get(token).experts());
    }

    private double[] freshScores(int token) {
        return ones(TokenwiseRouter.best(scores(token), topK));
    }

    private double[] freshSoftmax(int token) {
        return ones(TokenwiseRouter.best(softmax(token), topK));
    }

    private double[] ones(int[] chosen) {
        double[] ones = new double[experts];
        IntStream.of(chosen).forEach(e -> ones[e] = 1);
        return ones;
    }

    /** The smallest distance of scores to where a count of some loss jumps. */
    static double gap(List<LossWords> losses, Seen seen) {
        TokenwiseLosses room = new TokenwiseLosses(seen);
        double gap = Double.POSITIVE_INFINITY;
        for (int t = 0; !losses.isEmpty() && t < seen.logits().size(); t++) {
            double[] chosenBy =
                    TokenwiseRouter.choiceScores(seen.router(), seen.logits().get(t));
            gap = Math.min(gap, after(chosenBy, 1));
            gap = Math.min(gap, after(room.scores(t), room.topK));
        }
        return gap;
    }

    /** The distance of the k-th largest to the next. */
    private static double after(double[] scores, int k) {
        double[] sorted = scores.clone();
        Arrays.sort(sorted);
        int best = sorted.length - k;
        return best > 0 ? sorted[best] - sorted[best - 1] : Double.POSITIVE_INFINITY;
    }
}
