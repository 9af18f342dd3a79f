package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.ExpertSelection.TopTwo;
import org.moe4j.router.Renormalization.EpsilonPlace;

class SecondExpertTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final Renormalization GSHARD = new Renormalization.Sum(1e-9, EpsilonPlace.IN_SUM);
    private static final int EXPERTS = 6;

    private static RouterConfig config(SecondExpert second) {
        return RouterConfig.topK(EXPERTS, 2).withSelection(new TopTwo(second)).withRenormalization(GSHARD);
    }

    /** Tokens through the unit matrix: the logits are the tokens. */
    private static Routing route(RouterConfig config, double[] logits, RoutingContext context) {
        double[] unit = new double[EXPERTS * EXPERTS];
        for (int e = 0; e < EXPERTS; e++) {
            unit[e * (EXPERTS + 1)] = 1;
        }
        Matrix tokens = BACKEND.matrix(logits.length / EXPERTS, EXPERTS, logits);
        return TopKRouter.of(config, BACKEND.matrix(EXPERTS, EXPERTS, unit))
                .route(tokens, context)
                .routing();
    }

    private static double[] same(int tokens, double... row) {
        double[] all = new double[tokens * EXPERTS];
        for (int i = 0; i < all.length; i++) {
            all[i] = row[i % EXPERTS];
        }
        return all;
    }

    private static int largest(double[] row, int without) {
        int best = -1;
        for (int e = 0; e < row.length; e++) {
            if (e != without && (best < 0 || row[e] > row[best])) {
                best = e;
            }
        }
        return best;
    }

    /** 10,000 tokens against the two steps of the paper written out, by three ways in. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void allIsTheBestAndTheBestOfTheOthersWithGatesOverTheirSum(long seed) {
        int tokens = 2000;
        double[] logits = new SplittableRandom(seed)
                .doubles(12_000, -3, 3)
                .map(l -> Math.round(l * 2) / 2.0) // ties
                .toArray();
        Routing seeded = route(config(new SecondExpert.All()), logits, RouterNoiseTest.seeded(seed));
        Routing random = route(config(new SecondExpert.Random(.9)), logits, RoutingContext.plain());
        Routing sampled = config(new SecondExpert.Sampled()).routing(logits);
        for (int t = 0; t < tokens; t++) {
            double[] row = Arrays.copyOfRange(logits, t * EXPERTS, (t + 1) * EXPERTS);
            double[] gates = TokenwiseRouting.softmax(row);
            int first = largest(gates, -1);
            int second = largest(gates, first);
            double sum = gates[first] + gates[second] + 1e-9;
            for (Routing routing : new Routing[] {seeded, random, sampled}) {
                assertThat(routing.count(t)).isEqualTo(2);
                assertThat(routing.expert(t, 0)).isEqualTo(first);
                assertThat(routing.expert(t, 1)).isEqualTo(second);
                assertThat(routing.weight(t, 0)).isCloseTo(gates[first] / sum, within(1e-15));
                assertThat(routing.weight(t, 1)).isCloseTo(gates[second] / sum, within(1e-15));
            }
        }
    }

    /** The share of kept seconds is min(1, w₂/threshold), to within 5 standard errors of a binomial; weights stay. */
    @ParameterizedTest
    @ValueSource(doubles = {0, .1, .2, .3, .5, 1, 4})
    void randomKeepsTheSecondInProportionToItsWeight(double threshold) {
        int tokens = 20_000;
        double[] row = {0, 2, 1, -1, -2, 0.5};
        double[] gates = TokenwiseRouting.softmax(row);
        double sum = gates[1] + gates[2] + 1e-9;
        double weight = gates[2] / sum;
        RouterConfig config = config(new SecondExpert.Random(threshold)).withScale(2.5);
        Routing routing = route(config, same(tokens, row), RouterNoiseTest.seeded(17));
        int kept = 0;
        for (int t = 0; t < tokens; t++) {
            assertThat(routing.expert(t, 0)).isEqualTo(1);
            assertThat(routing.weight(t, 0)).isCloseTo(2.5 * gates[1] / sum, within(1e-14));
            if (routing.count(t) == 2) {
                assertThat(routing.expert(t, 1)).isEqualTo(2);
                assertThat(routing.weight(t, 1)).isCloseTo(2.5 * weight, within(1e-14));
                kept++;
            }
        }
        double share = Math.min(1, threshold == 0 ? 1 : weight / threshold);
        assertThat((double) kept / tokens).isCloseTo(share, within(5 * Math.sqrt(share * (1 - share) / tokens)));
    }

    @Test
    void rawScoresAreComparedWithoutRenormalisation() {
        int tokens = 20_000;
        double[] row = {0, 2, 1, -1, -2, 0.5};
        double gate = TokenwiseRouting.softmax(row)[2];
        RouterConfig config = config(new SecondExpert.Random(.5)).withRenormalization(new Renormalization.None());
        Routing routing = route(config, same(tokens, row), RouterNoiseTest.seeded(18));
        double share = gate / .5;
        assertThat((double) (routing.slots() - tokens) / tokens)
                .isCloseTo(share, within(5 * Math.sqrt(share * (1 - share) / tokens)));
    }

    /**
     * Pearson's statistic of 20,000 draws over the 5 other experts has 4 degrees of freedom: mean 4, variance 8. It is above 40
     * with a probability of (1 + 20)·e^−20 = 4·10⁻⁸.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void sampledFollowsTheSoftmaxOfTheOthers(long seed) {
        int tokens = 20_000;
        double[] row = {0, 2, 1, -1, -2, 0.5};
        double[] others = row.clone();
        others[1] = Double.NEGATIVE_INFINITY;
        double[] expected = TokenwiseRouting.softmax(others);
        Routing routing = route(config(new SecondExpert.Sampled()), same(tokens, row), RouterNoiseTest.seeded(seed));
        int[] counts = new int[EXPERTS];
        double[] gates = TokenwiseRouting.softmax(row);
        for (int t = 0; t < tokens; t++) {
            assertThat(routing.expert(t, 0)).isEqualTo(1);
            int second = routing.expert(t, 1);
            counts[second]++;
            assertThat(routing.weight(t, 1))
                    .isCloseTo(gates[second] / (gates[1] + gates[second] + 1e-9), within(1e-15));
        }
        double statistic = 0;
        for (int e = 0; e < EXPERTS; e++) {
            statistic += e == 1 ? 0 : Math.pow(counts[e] - tokens * expected[e], 2) / (tokens * expected[e]);
        }
        assertThat(counts[1]).isZero();
        assertThat(statistic).isLessThan(40);
    }

    @Test
    void aSeedGivesTheSameChoiceInRouteAndRoutingAndAnotherSeedAnother() {
        double[] logits = new SplittableRandom(5).doubles(100 * EXPERTS, -1, 1).toArray();
        for (SecondExpert second : new SecondExpert[] {new SecondExpert.Random(.9), new SecondExpert.Sampled()}) {
            double[] unit = new double[EXPERTS * EXPERTS];
            for (int e = 0; e < EXPERTS; e++) {
                unit[e * (EXPERTS + 1)] = 1;
            }
            TopKRouter router = TopKRouter.of(config(second), BACKEND.matrix(EXPERTS, EXPERTS, unit));
            Matrix tokens = BACKEND.matrix(100, EXPERTS, logits);
            String once = text(router.route(tokens, RouterNoiseTest.seeded(1)).routing());
            assertThat(text(router.routing(tokens, RouterNoiseTest.seeded(1)))).isEqualTo(once);
            assertThat(text(router.routing(tokens, RouterNoiseTest.seeded(2)))).isNotEqualTo(once);
        }
    }

    private static String text(Routing routing) {
        StringBuilder all = new StringBuilder();
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                all.append(routing.expert(t, rank)).append(rank + 1 == routing.count(t) ? '\n' : ' ');
            }
        }
        return all.toString();
    }

    @Test
    void twoExpertsAreTwo() {
        assertThatThrownBy(() -> config(new SecondExpert.All()).withTopK(3))
                .hasMessage("topK: expected 2 (the experts of a token with TopTwo) but was 3");
        assertThatThrownBy(() -> new SecondExpert.Random(-1))
                .hasMessage("threshold: expected a finite number of at least 0 but was -1.0");
    }

    @Test
    void unitSumsNeedBothExperts() {
        RouterConfig sum = config(new SecondExpert.All()).withRenormalization(new Renormalization.Sum());
        assertThat(sum.unitSum()).isTrue();
        assertThat(sum.withSelection(new TopTwo(new SecondExpert.Sampled())).unitSum())
                .isTrue();
        assertThat(sum.withSelection(new TopTwo(new SecondExpert.Random(.2))).unitSum())
                .isFalse();
        assertThat(config(new SecondExpert.All()).unitSum()).isFalse(); // the epsilon takes its part
        assertThat(TopKRouter.random(sum.withSelection(new TopTwo(new SecondExpert.Random(.2))), 3, BACKEND, 1)
                        .unitSum())
                .isFalse();
    }
}
