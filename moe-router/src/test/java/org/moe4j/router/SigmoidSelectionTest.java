package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.testing.Tolerance;

/** Rough scores save time and change nothing: experts and weights are those of exact scores, sorted. */
class SigmoidSelectionTest {
    private static final int TOKENS = 400;

    /** Where logits lie decides how much rough scores tell: apart, saturated at 1, vanishing at 0, equal, or spread wide. */
    private enum Kind {
        USUAL,
        SATURATED,
        VANISHING,
        TIED,
        WIDE,
        NEARLY_EQUAL,
        CHANGING;

        double draw(SplittableRandom random, int token) {
            double z = random.nextGaussian();
            return switch (this) {
                case USUAL -> z;
                case SATURATED -> 30 + 10 * z;
                case VANISHING -> -40 + 10 * z;
                case TIED -> random.nextInt(3) - 1;
                case WIDE -> 1e4 * z;
                case NEARLY_EQUAL -> 0.5 + 0x1p-24 * random.nextInt(5); // neighbours in single precision
                case CHANGING -> token % 3 == 0 ? 5 + z : token % 3 == 1 ? -5 + 0.1 * z : z;
            };
        }
    }

    static Stream<RouterConfig> configs() {
        RouterConfig plain = RouterConfig.topK(96, 7).withScore(new ScoreFunction.Sigmoid());
        RouterConfig grouped = plain.withSelection(groups(8, 3, new GroupScore.SumOfBest(2)));
        return Stream.of(
                plain,
                plain.withSelectionBias(true),
                plain.withScore(new ScoreFunction.Sigmoid(1e-7)).withSelectionBias(true),
                plain.withScore(new ScoreFunction.Sigmoid(1e12))
                        .withSelectionBias(true), // its error is that of large sums
                plain.withTopK(96),
                plain.withTopK(1).withExperts(5),
                plain.withTopK(60).withExperts(130).withSelectionBias(true),
                grouped,
                grouped.withSelectionBias(true),
                grouped.withSelectionBias(true).withSelection(groups(6, 2, new GroupScore.Max())),
                grouped.withSelectionBias(true).withSelection(groups(4, 2, new GroupScore.SumOfBest(5))),
                grouped.withSelectionBias(true)
                        .withSelection(new ExpertSelection.GroupLimited(
                                8, 3, new GroupScore.Max(), ExpertSelection.ClosedGroups.ZERO)));
    }

    private static ExpertSelection groups(int groups, int kept, GroupScore score) {
        return new ExpertSelection.GroupLimited(groups, kept, score);
    }

    @ParameterizedTest
    @MethodSource("configs")
    void selectsAndWeighsAsExactScoresDo(RouterConfig config) {
        SplittableRandom random = new SplittableRandom(11);
        int experts = config.experts();
        for (Kind kind : Kind.values()) {
            for (double deviation : config.selectionBias() ? new double[] {0, 1e-3, 1, 1e6, 1e290} : new double[] {0}) {
                double[] bias =
                        random.doubles(experts).map(b -> deviation * (b - 0.5)).toArray();
                double[] logits = new double[TOKENS * experts];
                Arrays.setAll(logits, i -> (float) kind.draw(random, i / experts)); // both precisions hold them
                Routing inDouble = config.selectionBias()
                        ? config.routing(logits, SelectionBias.of(bias))
                        : config.routing(logits);
                Routing inSingle = inSingle(config, logits, bias);
                for (int t = 0; t < TOKENS; t++) {
                    double[] row = Arrays.copyOfRange(logits, t * experts, (t + 1) * experts);
                    compare(config, row, bias, inDouble, t);
                    compare(config, row, bias, inSingle, t);
                }
            }
        }
    }

    private static Routing inSingle(RouterConfig config, double[] logits, double[] bias) {
        float[] singles = new float[logits.length];
        for (int i = 0; i < singles.length; i++) {
            singles[i] = (float) logits[i];
        }
        Optional<SelectionBias> values =
                config.selectionBias() ? Optional.of(SelectionBias.of(bias)) : Optional.empty();
        return TokenChoice.routing(config, values, LogitRows.of(config.experts(), singles, 0));
    }

    private static void compare(RouterConfig config, double[] logits, double[] bias, Routing actual, int token) {
        double[] scores = config.score().scores(logits);
        double[] choice = scores.clone();
        Arrays.setAll(choice, e -> scores[e] + bias[e]);
        double[] open = TokenwiseRouting.restricted(config.selection(), choice, config.topK());
        int[] expected = TokenwiseRouting.best(open, config.topK());
        for (int rank = 0; rank < config.topK(); rank++) {
            assertThat(actual.expert(token, rank))
                    .as("token %d, rank %d", token, rank)
                    .isEqualTo(expected[rank]);
            assertThat(actual.weight(token, rank)).isEqualTo(scores[expected[rank]]);
        }
    }

    /**
     * Groups whose sums differ by less than the error of rough scores, since the bias takes away what tells the sigmoids apart: only exact
     * scores know which groups stay open.
     */
    @Test
    void closesTheGroupsThatExactScoresClose() {
        RouterConfig config =
                RouterConfig.topK(96, 7).withScore(new ScoreFunction.Sigmoid()).withSelectionBias(true);
        for (ExpertSelection selection : List.of(
                groups(8, 3, new GroupScore.Max()),
                groups(8, 3, new GroupScore.SumOfBest(2)),
                groups(8, 3, new GroupScore.SumOfBest(5)))) {
            RouterConfig grouped = config.withSelection(selection);
            SplittableRandom random = new SplittableRandom(12);
            int misleading = 0;
            for (int i = 0; i < 300; i++) {
                double[] logits = random.doubles(96, -4, 4).map(l -> (float) l).toArray();
                double[] scores = grouped.score().scores(logits);
                double[] bias = Arrays.stream(scores)
                        .map(s -> 1.5 - s + 1e-8 * random.nextInt(20))
                        .toArray();
                double[] exact = new double[96];
                Arrays.setAll(exact, e -> scores[e] + bias[e]);
                double[] rough = logits.clone();
                SigmoidSelection.roughly(rough, bias);
                misleading += Arrays.equals(closed(selection, exact), closed(selection, rough)) ? 0 : 1;
                compare(grouped, logits, bias, grouped.routing(logits, SelectionBias.of(bias)), 0);
                compare(grouped, logits, bias, inSingle(grouped, logits, bias), 0);
            }
            assertThat(misleading)
                    .as("rough scores would mislead %s", selection)
                    .isGreaterThan(30);
        }
    }

    private static boolean[] closed(ExpertSelection selection, double[] choice) {
        double[] restricted = TokenwiseRouting.restricted(selection, choice, 7);
        boolean[] closed = new boolean[choice.length];
        for (int e = 0; e < closed.length; e++) {
            closed[e] = restricted[e] == Double.NEGATIVE_INFINITY;
        }
        return closed;
    }

    /** The bounds that the selection relies on, by a dense walk over the range where the sigmoid changes, and the ends. */
    @Test
    void roughSigmoidsAreWithinTheirError() {
        double[] zero = new double[1000];
        double[] logits = new double[1000];
        float[] single = new float[1000];
        double worst = 0;
        double worstSingle = 0;
        for (int block = 0; block < 1000; block++) {
            double start = -60 + block * 0.12;
            Arrays.setAll(logits, i -> (float) (start + i * 0.00012));
            double[] rough = logits.clone();
            for (int i = 0; i < single.length; i++) {
                single[i] = (float) logits[i];
            }
            SigmoidSelection.roughly(rough, zero);
            SigmoidSelection.roughly(single, new float[1000]);
            for (int i = 0; i < rough.length; i++) {
                double exact = 1 / (1 + StrictMath.exp(-logits[i]));
                worst = Math.max(worst, Math.abs(rough[i] - exact));
                worstSingle = Math.max(worstSingle, Math.abs(single[i] - exact));
            }
        }
        assertThat(worst).isLessThan(2e-7);
        assertThat(worstSingle).isLessThan(2e-6);
    }

    @Test
    void roughSigmoidsAreRightAtTheEnds() {
        double[] ends = {-Double.MAX_VALUE, -1e300, -1e4, -745, 745, 1e4, Double.MAX_VALUE, Double.MIN_VALUE};
        double[] rough = ends.clone();
        SigmoidSelection.roughly(rough, new double[8]);
        float[] singleEnds = {-Float.MAX_VALUE, -1e30f, -1e4f, -745, 745, 1e4f, Float.MAX_VALUE, Float.MIN_VALUE};
        float[] single = singleEnds.clone();
        SigmoidSelection.roughly(single, new float[8]);
        for (int i = 0; i < 8; i++) {
            Tolerance.assertWithin("double", rough[i], 1 / (1 + StrictMath.exp(-ends[i])), 2e-7);
            Tolerance.assertWithin("single", single[i], 1 / (1 + StrictMath.exp(-singleEnds[i])), 2e-6);
        }
    }

    @Test
    void onlySigmoidsWithGroupsClosedForGoodAreRough() {
        TopK best = new TopK(8, 2);
        RouterConfig softmax = RouterConfig.topK(8, 2);
        assertThat(SigmoidSelection.of(softmax, Optional.empty(), best, Optional.empty()))
                .isEmpty();
        assertThat(SigmoidSelection.of(
                        softmax.withScore(new ScoreFunction.Sigmoid()), Optional.empty(), best, Optional.empty()))
                .isPresent();
    }
}
