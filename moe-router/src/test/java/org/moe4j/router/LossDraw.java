package org.moe4j.router;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Random layers for losses: any score, bias, groups, masks and sequences, from 0 tokens and 1 expert on. */
final class LossDraw {
    private static final List<ScoreFunction> SCORES = List.of(
            new ScoreFunction.Softmax(),
            new ScoreFunction.Sigmoid(),
            new ScoreFunction.Sigmoid(1e-7),
            new ScoreFunction.SqrtSoftplus());
    private static final List<Renormalization> RENORMALIZATIONS = List.of(
            new Renormalization.None(),
            new Renormalization.Sum(),
            new Renormalization.Norm(2),
            new Renormalization.SoftmaxOfSelected());

    private LossDraw() {}

    /** One to three layers with the same tokens: as many rows, padding and sequences in each. */
    static List<LossLayer> layers(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int experts = random.nextInt(1, 7);
        int topK = random.nextInt(1, experts + 1);
        int tokens = random.nextInt(0, 9);
        boolean[] valid = valid(random, tokens);
        List<Integer> lengths = lengths(random, tokens);
        RouterConfig config = config(random, experts, topK);
        double[] bias = random.doubles(experts, -0.5, 0.5).toArray();
        List<LossLayer> layers = new ArrayList<>();
        for (int layer = random.nextInt(3); layer >= 0; layer--) {
            double[][] logits = IntStream.range(0, tokens)
                    .mapToObj(t -> random.doubles(experts, -2, 2).toArray())
                    .toArray(double[][]::new);
            layers.add(new LossLayer(config, bias, logits, valid, lengths));
        }
        return layers;
    }

    private static boolean[] valid(SplittableRandom random, int tokens) {
        boolean[] valid = new boolean[tokens];
        int kind = random.nextInt(6); // 0: all of it is padding
        for (int t = 0; t < tokens; t++) {
            valid[t] = kind > 2 || (kind > 0 && random.nextInt(3) > 0);
        }
        return valid;
    }

    private static List<Integer> lengths(SplittableRandom random, int tokens) {
        List<Integer> lengths = new ArrayList<>();
        if (random.nextBoolean()) {
            int[] cuts = random.ints(random.nextInt(4), 0, tokens + 1).sorted().toArray();
            int from = 0;
            for (int cut : cuts) {
                lengths.add(cut - from);
                from = cut;
            }
            lengths.add(tokens - from);
        }
        return lengths;
    }

    private static RouterConfig config(SplittableRandom random, int experts, int topK) {
        RouterConfig config = RouterConfig.topK(experts, topK)
                .withScore(SCORES.get(random.nextInt(SCORES.size())))
                .withSelectionBias(random.nextBoolean());
        boolean isSoftmax = config.score() instanceof ScoreFunction.Softmax;
        config = config.withRenormalization(RENORMALIZATIONS.get(random.nextInt(isSoftmax ? 4 : 3)))
                .withScale(random.nextBoolean() ? 1 : 2.5);
        return experts % 2 == 0 && topK <= experts / 2 && random.nextBoolean()
                ? config.withSelection(new ExpertSelection.GroupLimited(2, 1, new GroupScore.Max()))
                : config;
    }

    /** Whether moving any logit by 1e-4 leaves all choices as they are. */
    static boolean isAwayFromTies(LossLayer layer) {
        double[] flat = layer.flat();
        String choices = layer.choices();
        for (int i = 0; i < flat.length; i++) {
            for (double step : new double[] {1e-4, -1e-4}) {
                double[] moved = Arrays.copyOf(flat, flat.length);
                moved[i] += step;
                if (!layer.withLogits(moved).choices().equals(choices)) {
                    return false;
                }
            }
        }
        return true;
    }
}
