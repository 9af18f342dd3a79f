package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.dispatch.Routing;

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
                case NEARLY_EQUAL -> 0.5 + 1e-15 * random.nextInt(5);
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
        for (Kind kind : Kind.values()) {
            for (double deviation : config.selectionBias() ? new double[] {0, 1e-3, 1, 1e6} : new double[] {0}) {
                double[] bias = random.doubles(config.experts())
                        .map(b -> deviation * (b - 0.5))
                        .toArray();
                double[] logits = new double[TOKENS * config.experts()];
                Arrays.setAll(logits, i -> kind.draw(random, i / config.experts()));
                Routing actual = config.selectionBias()
                        ? config.routing(logits, SelectionBias.of(bias))
                        : config.routing(logits);
                for (int t = 0; t < TOKENS; t++) {
                    compare(
                            config,
                            Arrays.copyOfRange(logits, t * config.experts(), (t + 1) * config.experts()),
                            bias,
                            actual,
                            t);
                }
            }
        }
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

    /** The bound that the selection relies on, by a dense walk over the range where the sigmoid changes, and the ends. */
    @Test
    void roughSigmoidsAreWithinTheirError() {
        double[] zero = new double[1000];
        double[] logits = new double[1000];
        double[] rough = new double[1000];
        double worst = 0;
        for (int block = 0; block < 1000; block++) {
            double start = -60 + block * 0.12;
            Arrays.setAll(logits, i -> start + i * 0.00012);
            SigmoidSelection.roughly(logits, 0, zero, rough);
            for (int i = 0; i < rough.length; i++) {
                worst = Math.max(worst, Math.abs(rough[i] - 1 / (1 + StrictMath.exp(-logits[i]))));
            }
        }
        assertThat(worst).isLessThan(2e-7);
        double[] ends = {-Double.MAX_VALUE, -1e300, -1e4, -745, 745, 1e4, Double.MAX_VALUE, Double.MIN_VALUE};
        double[] atEnds = new double[8];
        SigmoidSelection.roughly(ends, 0, new double[8], atEnds);
        for (int i = 0; i < 8; i++) {
            assertThat(Math.abs(atEnds[i] - 1 / (1 + StrictMath.exp(-ends[i])))).isLessThan(2e-7);
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
