package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.ExpertSelection.ClosedGroups;
import org.moe4j.router.ExpertSelection.GroupLimited;
import org.moe4j.router.Renormalization.EpsilonPlace;

/** What every router has to decide: one test each. */
class RouterEdgeCasesTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final ScoreFunction SIGMOID = new ScoreFunction.Sigmoid();
    private static final Renormalization SUM = new Renormalization.Sum();

    /** The routing of given logits under a selection bias. */
    private static TopKPass biased(RouterConfig config, double[] bias, double... logits) {
        double[] unit = new double[bias.length * bias.length];
        for (int e = 0; e < bias.length; e++) {
            unit[e * (bias.length + 1)] = 1;
        }
        return TopKRouter.of(config, BACKEND.matrix(bias.length, bias.length, unit))
                .withSelectionBias(SelectionBias.of(bias))
                .route(BACKEND.matrix(logits.length / bias.length, bias.length, logits), RoutingContext.plain());
    }

    private static double[] weights(Routing routing, int token) {
        return IntStream.range(0, routing.topK())
                .mapToDouble(rank -> routing.weight(token, rank))
                .toArray();
    }

    private static int[] experts(Routing routing, int token) {
        return IntStream.range(0, routing.topK())
                .map(rank -> routing.expert(token, rank))
                .toArray();
    }

    static Stream<RouterConfig> shapes() {
        return Stream.of(RouterConfig.topK(1, 1), RouterConfig.topK(512, 1), RouterConfig.topK(512, 512))
                .flatMap(config -> Stream.of(
                        config,
                        config.withRenormalization(SUM),
                        config.withRenormalization(new Renormalization.SoftmaxOfSelected()),
                        config.withScore(new ScoreFunction.SqrtSoftplus())
                                .withRenormalization(new Renormalization.Norm(2)),
                        config.withScore(new ScoreFunction.Sigmoid(1e-7)).withRenormalization(SUM)));
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void oneExpertManyExpertsNoTokenOneToken(RouterConfig config) {
        TopKPass none = TopKRouterTest.routeLogits(config);
        assertThat(none.routing().tokens()).isZero();
        assertThat(none.choiceScores()).isEmpty();
        double[] logits =
                new SplittableRandom(7).doubles(config.experts(), -3, 3).toArray();
        TopKPass one = TopKRouterTest.routeLogits(config, logits);
        int[] best = TokenwiseRouting.best(logits, config.topK());
        double[] scores = TokenwiseRouting.scores(config.score(), logits);
        assertThat(experts(one.routing(), 0)).containsExactly(best);
        assertThat(weights(one.routing(), 0))
                .containsExactly(
                        TokenwiseRouting.weights(config.renormalization(), logits, scores, best), within(1e-13));
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void extremeLogitsGiveFiniteWeightsThatAddUp(RouterConfig config) {
        double[] patterns = {1e4, -1e4, Double.MIN_VALUE, -3e-310, 0};
        double[] logits = IntStream.range(0, 2 * config.experts())
                .mapToDouble(i -> i < config.experts() ? patterns[i % patterns.length] : 1e4)
                .toArray();
        Routing routing = TopKRouterTest.routeLogits(config, logits).routing();
        for (int t = 0; t < 2; t++) {
            assertThat(Arrays.stream(experts(routing, t)).distinct()).hasSize(config.topK());
            if (config.renormalization().unitSum()) {
                assertThat(Arrays.stream(weights(routing, t)).sum()).isCloseTo(1, within(1e-13));
            }
        }
        double equal = weights(routing, 1)[0]; // all logits equal: lower indices first, one weight for all
        assertThat(experts(routing, 1))
                .containsExactly(IntStream.range(0, config.topK()).toArray());
        assertThat(Arrays.stream(weights(routing, 1))).allMatch(weight -> weight == equal);
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void aLogitThatIsNotANumberOrAllMinusInfinityIsAnError(RouterConfig config) {
        double[] nan = new double[config.experts()];
        nan[config.experts() - 1] = Double.NaN;
        double[] closed = new double[config.experts()];
        Arrays.fill(closed, Double.NEGATIVE_INFINITY);
        Matrix weight = BACKEND.matrix(config.experts(), 1, filled(config.experts(), 1));
        try (TopKRouter router = TopKRouter.of(config.withLogitBias(true), weight, row(nan))) {
            assertThatThrownBy(() -> router.route(BACKEND.matrix(1, 1, new double[1]), RoutingContext.plain()))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage("router logits: expected finite values but token 0, expert " + (config.experts() - 1)
                            + " is NaN");
        }
        try (TopKRouter router = TopKRouter.of(config.withLogitBias(true), weight, row(closed))) {
            assertThatThrownBy(() -> router.route(BACKEND.matrix(1, 1, new double[1]), RoutingContext.plain()))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage("router logits: expected finite values but token 0, expert 0 is -Infinity");
        }
    }

    private static Matrix row(double[] values) {
        return BACKEND.matrix(1, values.length, values);
    }

    private static double[] filled(int count, double value) {
        double[] values = new double[count];
        Arrays.fill(values, value);
        return values;
    }

    @Test
    void scoresThatAreAllZeroHaveNoSumUnlessAnEpsilonSaysSo() {
        RouterConfig config = RouterConfig.topK(3, 2).withScore(SIGMOID).withRenormalization(SUM);
        double[] bias = {2, 2, 0}; // selects the two that vanish
        double[] logits = {0, 0, 0, -800, -800, 5};
        assertThatThrownBy(() -> biased(config, bias, logits))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage(
                        "router weights: expected selected scores with a sum of at least 1.0E-290 but token 1 has 0.0");
        Renormalization inSum = new Renormalization.Sum(1e-20, EpsilonPlace.IN_SUM);
        assertThat(weights(
                        biased(config.withRenormalization(inSum), bias, logits).routing(), 1))
                .containsExactly(0, 0);
        assertThat(weights(
                        biased(config.withScore(new ScoreFunction.Sigmoid(1e-7)), bias, logits)
                                .routing(),
                        1))
                .containsExactly(.5, .5);
    }

    @Test
    void sigmoidsBelowTheSinglePrecisionRangeStillHaveASum() {
        RouterConfig config = RouterConfig.topK(2, 2).withScore(SIGMOID).withRenormalization(SUM);
        Routing routing =
                TopKRouterTest.routeLogits(config, -660, -660.5, -90, -110).routing();
        assertThat(weights(routing, 0)[0]).isCloseTo(1 / (1 + Math.exp(-.5)), within(1e-13));
        assertThat(weights(routing, 1)[1]).isCloseTo(Math.exp(-20) / (1 + Math.exp(-20)), within(1e-22));
    }

    @Test
    void anEpsilonFarBelowTheSumChangesNothing() {
        double[] scores = {.3, .2, .1};
        assertThat(new Renormalization.Sum(1e-20, EpsilonPlace.IN_SUM).weights(scores))
                .containsExactly(SUM.weights(scores));
    }

    @ParameterizedTest
    @ValueSource(doubles = {-1, -.125, .5, 3})
    void aBiasThatIsTheSameForAllChangesNothing(double value) {
        RouterConfig plain = RouterConfig.topK(16, 4).withScore(SIGMOID);
        RouterConfig limited = plain.withSelection(new GroupLimited(4, 2, new GroupScore.SumOfBest(2)));
        double[] logits = new SplittableRandom(3).doubles(160, -3, 3).toArray();
        for (RouterConfig config : List.of(plain, limited)) {
            Routing without = TopKRouterTest.routeLogits(config, logits).routing();
            Routing with = biased(config, filled(16, value), logits).routing();
            for (int t = 0; t < 10; t++) {
                assertThat(experts(with, t)).containsExactly(experts(without, t));
                assertThat(weights(with, t)).containsExactly(weights(without, t));
            }
        }
    }

    @Test
    void aBiasThatIsTheSameForAllSelectsClosedExpertsWithTheZeroFill() {
        RouterConfig config = RouterConfig.topK(4, 2)
                .withScore(SIGMOID)
                .withSelection(new GroupLimited(2, 1, new GroupScore.Max(), ClosedGroups.ZERO));
        double[] logits = {2, 1, 0, -1};
        assertThat(experts(TopKRouterTest.routeLogits(config, logits).routing(), 0))
                .containsExactly(0, 1);
        TopKPass flipped = biased(config, filled(4, -1), logits);
        assertThat(experts(flipped.routing(), 0)).containsExactly(2, 3);
        assertThat(flipped.choiceScores()).endsWith(0, 0);
    }

    @Test
    void oneGroupIsNoRestriction() {
        double[] logits = new SplittableRandom(4).doubles(80, -3, 3).toArray();
        RouterConfig config = RouterConfig.topK(8, 3).withScore(SIGMOID);
        Routing plain = TopKRouterTest.routeLogits(config, logits).routing();
        Routing one = TopKRouterTest.routeLogits(
                        config.withSelection(new GroupLimited(1, 1, new GroupScore.SumOfBest(2))), logits)
                .routing();
        for (int t = 0; t < 10; t++) {
            assertThat(experts(one, t)).containsExactly(experts(plain, t));
            assertThat(weights(one, t)).containsExactly(weights(plain, t));
        }
    }

    @Test
    void aScaleOfZeroIsRefusedAndNotReadAsNone() {
        assertThatThrownBy(() -> RouterConfig.topK(4, 2).withScale(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("scale: expected a finite number above 0 but was 0.0");
    }

    @Test
    void theScaleAppliesWithAndWithoutRenormalisation() {
        RouterConfig config = RouterConfig.topK(3, 2).withScale(4);
        double[] raw =
                weights(TopKRouterTest.routeLogits(config.withScale(1), 1, 2, 3).routing(), 0);
        double[] scaled = weights(TopKRouterTest.routeLogits(config, 1, 2, 3).routing(), 0);
        assertThat(scaled).containsExactly(4 * raw[0], 4 * raw[1]);
        double[] unit = weights(
                TopKRouterTest.routeLogits(config.withRenormalization(SUM), 1, 2, 3)
                        .routing(),
                0);
        assertThat(Arrays.stream(unit).sum()).isCloseTo(4, within(1e-14));
    }

    @Test
    void countsAreThoseOfTheActualRouting() {
        RouterConfig config = RouterConfig.topK(4, 1)
                .withScore(SIGMOID)
                .withSelection(new GroupLimited(2, 1, new GroupScore.SumOfBest(2)));
        TopKPass pass = biased(config, new double[] {0, 9, 0, 0}, 3, 0, 0, 0, 0, 0, 3, 3);
        assertThat(pass.routing().tokensPerExpert()).containsExactly(0, 2, 0, 0);
    }

    @Test
    void scoresStayWhatTheyAreWhenGroupsAreClosed() {
        RouterConfig config = RouterConfig.topK(4, 2).withSelection(new GroupLimited(2, 1, new GroupScore.Max()));
        TopKPass pass = TopKRouterTest.routeLogits(config, 4, 3, 2, 1);
        assertThat(pass.scores()).containsExactly(config.score().scores(new double[] {4, 3, 2, 1}));
        assertThat(pass.choiceScores()).endsWith(Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY);
    }

    @Test
    void aWeightOfZeroKeepsItsExpert() {
        Routing routing = TopKRouterTest.routeLogits(RouterConfig.topK(3, 2), 0, -2000, -1000)
                .routing();
        assertThat(experts(routing, 0)).containsExactly(0, 1); // both others vanish: the lower index
        assertThat(weights(routing, 0)).containsExactly(1, 0);
        Routing byLogit = TopKRouterTest.routeLogits(
                        RouterConfig.topK(3, 2).withRenormalization(new Renormalization.SoftmaxOfSelected()),
                        0,
                        -2000,
                        -1000)
                .routing();
        assertThat(experts(byLogit, 0)).containsExactly(0, 2); // logits never vanish
    }

    @Test
    void oneExpertPerTokenIsRenormalisedPerToken() {
        Routing routing = TopKRouterTest.routeLogits(
                        RouterConfig.topK(2, 1).withScore(SIGMOID).withRenormalization(SUM), 1, 2, -3, -4, 0, 5)
                .routing();
        for (int t = 0; t < 3; t++) {
            assertThat(weights(routing, t)).containsExactly(1);
        }
    }

    @Test
    void paddingIsRoutedLikeAnyRowAndRoutingHasNoNoise() {
        TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
        Matrix tokens = BACKEND.matrix(2, 3, new double[] {1, 2, 3, 4, 5, 6});
        RoutingContext padded = new RoutingContext(
                Optional.of(RowMask.of(new boolean[] {true, false})), List.of(2), OptionalLong.of(5));
        Routing one = router.route(tokens, padded).routing();
        Routing other = router.route(tokens, RoutingContext.plain()).routing();
        for (int t = 0; t < 2; t++) {
            assertThat(experts(one, t)).containsExactly(experts(other, t));
            assertThat(weights(one, t)).containsExactly(weights(other, t));
        }
    }
}
