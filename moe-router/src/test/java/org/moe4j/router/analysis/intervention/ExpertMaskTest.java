package org.moe4j.router.analysis.intervention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.GroupScore;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;

class ExpertMaskTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final RoutingContext PLAIN = RoutingContext.plain();

    /** A router whose logits are its tokens. */
    private static TopKRouter unit(RouterConfig config) {
        int experts = config.experts();
        double[] unit = new double[experts * experts];
        for (int e = 0; e < experts; e++) {
            unit[e * (experts + 1)] = 1;
        }
        return TopKRouter.of(config, BACKEND.matrix(experts, experts, unit));
    }

    private static int[] experts(Routing routing, int token) {
        return IntStream.range(0, routing.count(token))
                .map(rank -> routing.expert(token, rank))
                .toArray();
    }

    private static double[] weights(Routing routing, int token) {
        return IntStream.range(0, routing.count(token))
                .mapToDouble(rank -> routing.weight(token, rank))
                .toArray();
    }

    @Test
    void masksAreTheListsTheyWereMadeOf() {
        assertThat(ExpertMask.without(4, 2, 0)).isEqualTo(ExpertMask.keeping(4, 1, 3));
        ExpertMask mask = ExpertMask.without(4, 2);
        assertThat(mask.isMasked(2)).isTrue();
        assertThat(mask.isMasked(3)).isFalse();
        assertThat(mask.left()).isEqualTo(3);
        assertThat(mask.experts()).isEqualTo(4);
        assertThat(mask).hasToString("ExpertMask[3 of 4 experts left]").hasSameHashCodeAs(ExpertMask.without(4, 2));
        assertThat(mask).isNotEqualTo(ExpertMask.without(4, 1));
    }

    @Test
    void theMostUsedAreKeptAndOfEqualOnesTheLower() {
        long[] load = {5, 9, 5, 0, 9};
        assertThat(ExpertMask.keepingMostUsed(load, 3)).isEqualTo(ExpertMask.keeping(5, 0, 1, 4));
        assertThat(ExpertMask.keepingMostUsed(load, 0).left()).isZero();
        assertThat(ExpertMask.keepingMostUsed(load, 5).left()).isEqualTo(5);
    }

    @Test
    void badMasksAreRefused() {
        assertThatThrownBy(() -> ExpertMask.without(4, 4)).hasMessage("masked: expected 0..3 (experts) but was 4");
        assertThatThrownBy(() -> ExpertMask.keepingMostUsed(new long[2], 3))
                .hasMessageContaining("kept: expected 0..2");
        TopKRouter router = unit(RouterConfig.topK(3, 2));
        assertThatThrownBy(() -> ExpertMask.without(4).beforeChoice(router))
                .hasMessage("mask: expected 3 experts (of the router) but was 4");
        assertThatThrownBy(() -> ExpertMask.without(4).afterChoice(router, RemovedWeight.LOST))
                .hasMessageContaining("mask: expected 3 experts");
        assertThatThrownBy(() -> ExpertMask.keeping(3, 1).beforeChoice(router))
                .hasMessage("mask: expected at least 2 experts that are left (topK) but was 1");
    }

    @Nested
    class Before {
        @Test
        void theNextBestTakesThePlace() {
            Router router = ExpertMask.without(4, 3).beforeChoice(unit(RouterConfig.topK(4, 2)));
            Routing routing = router.routing(BACKEND.matrix(1, 4, new double[] {0, 1, 2, 9}), PLAIN);
            double sum = 1 + Math.E + Math.exp(2);
            assertThat(experts(routing, 0)).containsExactly(2, 1);
            assertThat(weights(routing, 0)[0]).isCloseTo(Math.exp(2) / sum, within(1e-15));
            assertThat(weights(routing, 0)[1]).isCloseTo(Math.E / sum, within(1e-15));
        }

        /** Every kind of score: the routing is that of a router that never had the masked experts. */
        @ParameterizedTest
        @ValueSource(longs = {1, 2, 3, 4})
        void maskedExpertsMightAsWellNotBeThere(long seed) {
            Random random = new Random(seed);
            int[] left = {0, 2, 3, 5, 8, 9};
            double[] bias = random.doubles(10, -3, 1).toArray();
            double[] logits = random.doubles(50 * 10, -5, 5).toArray();
            double[] fewer = IntStream.range(0, 50)
                    .boxed()
                    .flatMapToDouble(t -> Arrays.stream(left).mapToDouble(e -> logits[t * 10 + e]))
                    .toArray();
            RouterConfig plain = RouterConfig.topK(10, 3);
            for (RouterConfig config : List.of(
                    plain,
                    plain.withScore(new ScoreFunction.Sigmoid(1e-7)).withRenormalization(new Renormalization.Sum()),
                    plain.withScore(new ScoreFunction.SqrtSoftplus()).withScale(2.5),
                    plain.withRenormalization(new Renormalization.SoftmaxOfSelected()))) {
                for (boolean biased : new boolean[] {false, true}) {
                    TopKRouter router = unit(config);
                    Routing expected = config.withExperts(6).routing(fewer);
                    if (biased) {
                        router = router.withSelectionBias(SelectionBias.of(bias));
                        double[] own =
                                Arrays.stream(left).mapToDouble(e -> bias[e]).toArray();
                        expected = config.withExperts(6).withSelectionBias(true).routing(fewer, SelectionBias.of(own));
                    }
                    Routing masked = ExpertMask.keeping(10, left)
                            .beforeChoice(router)
                            .routing(BACKEND.matrix(50, 10, logits), PLAIN);
                    for (int t = 0; t < 50; t++) {
                        assertThat(experts(masked, t))
                                .isEqualTo(Arrays.stream(experts(expected, t))
                                        .map(e -> left[e])
                                        .toArray());
                        assertThat(weights(masked, t)).containsExactly(weights(expected, t), within(1e-14));
                    }
                }
            }
        }

        @Test
        void groupsAreRankedByTheExpertsThatAreLeft() {
            RouterConfig config = RouterConfig.topK(6, 2)
                    .withSelection(new ExpertSelection.GroupLimited(3, 1, new GroupScore.SumOfBest(2)));
            Matrix token = BACKEND.matrix(1, 6, new double[] {9, 8, 1, 2, 3, 2.5});
            TopKRouter router = unit(config);
            assertThat(experts(router.routing(token, PLAIN), 0)).containsExactly(0, 1);
            assertThat(experts(ExpertMask.without(6, 0).beforeChoice(router).routing(token, PLAIN), 0))
                    .containsExactly(4, 5);
        }

        @Test
        void groupsWithoutEnoughExpertsAreAnError() {
            RouterConfig config =
                    RouterConfig.topK(4, 2).withSelection(new ExpertSelection.GroupLimited(2, 1, new GroupScore.Max()));
            Router router = ExpertMask.without(4, 1).beforeChoice(unit(config));
            Matrix token = BACKEND.matrix(1, 4, new double[] {9, 8, 1, 2});
            assertThatThrownBy(() -> router.routing(token, PLAIN))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage("mask: expected 2 experts that are left in the groups of token 0 but was 1;"
                            + " the mask may also be after the choice");
        }

        @Test
        void noiseAndWholeBatchesAreRefused() {
            TopKRouter router = unit(RouterConfig.topK(3, 1));
            Router masked = ExpertMask.without(3, 0).beforeChoice(router);
            Matrix token = BACKEND.matrix(1, 3, new double[] {1, 2, 3});
            assertThatThrownBy(() -> masked.routing(token, PLAIN.withSeed(1)))
                    .hasMessageContaining("context.noiseSeed: expected none");
            TopKRouter batch = router.withSelection(new ExpertSelection.Sinkhorn());
            assertThatThrownBy(() -> ExpertMask.without(3).beforeChoice(batch))
                    .hasMessageContaining("router: expected one that looks at one token at a time");
        }
    }

    @Nested
    class After {
        private final TopKRouter router = unit(RouterConfig.topK(4, 2));
        private final Matrix tokens = BACKEND.matrix(3, 4, new double[] {0, 1, 2, 9, 3, 2, 1, 0, 0, 0, 4, 5});

        @Test
        void assignmentsGoAndWeightsStay() {
            Routing all = router.routing(tokens, PLAIN);
            Routing rest = ExpertMask.without(4, 2, 3)
                    .afterChoice(router, RemovedWeight.LOST)
                    .routing(tokens, PLAIN);
            assertThat(experts(rest, 0)).isEmpty();
            assertThat(experts(rest, 1)).containsExactly(0, 1);
            assertThat(weights(rest, 1)).isEqualTo(weights(all, 1));
            assertThat(experts(rest, 2)).isEmpty();
        }

        @Test
        void weightsOfTheOthersMayGrowToTheOldSum() {
            Routing all = router.routing(tokens, PLAIN);
            Routing rest = ExpertMask.without(4, 3)
                    .afterChoice(router, RemovedWeight.GIVEN_TO_OTHERS)
                    .routing(tokens, PLAIN);
            assertThat(experts(rest, 0)).containsExactly(2);
            assertThat(rest.weight(0, 0)).isCloseTo(all.weight(0, 0) + all.weight(0, 1), within(1e-15));
            assertThat(weights(rest, 1)).isEqualTo(weights(all, 1));
        }

        @Test
        void weightsThatAreAllZeroCannotGrow() {
            Matrix token = BACKEND.matrix(1, 4, new double[] {0, -5000, -6000, -7000});
            Router masked = ExpertMask.without(4, 0).afterChoice(router, RemovedWeight.GIVEN_TO_OTHERS);
            assertThatThrownBy(() -> masked.routing(token, PLAIN))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessageContaining("for token 0; use RemovedWeight.LOST");
        }

        @Test
        void whatTheRouterSaysOfItselfIsTrue() {
            TopKRouter unitSum = unit(RouterConfig.topK(4, 2).withRenormalization(new Renormalization.Sum()));
            ExpertMask one = ExpertMask.without(4, 3);
            ExpertMask two = ExpertMask.without(4, 3, 2);
            ExpertMask none = ExpertMask.without(4);
            assertThat(one.beforeChoice(unitSum).unitSum()).isTrue();
            assertThat(one.beforeChoice(unitSum).fixedCount()).isTrue();
            assertThat(one.afterChoice(unitSum, RemovedWeight.GIVEN_TO_OTHERS).unitSum())
                    .isTrue();
            assertThat(one.afterChoice(unitSum, RemovedWeight.LOST).unitSum()).isFalse();
            assertThat(two.afterChoice(unitSum, RemovedWeight.GIVEN_TO_OTHERS).unitSum())
                    .isFalse();
            assertThat(none.afterChoice(unitSum, RemovedWeight.LOST).unitSum()).isTrue();
            assertThat(none.afterChoice(unitSum, RemovedWeight.LOST).fixedCount())
                    .isTrue();
            assertThat(one.afterChoice(unitSum, RemovedWeight.LOST).fixedCount())
                    .isFalse();
        }
    }

    @Test
    void everythingElseIsTheRoutersOwn() {
        TopKRouter router = unit(RouterConfig.topK(4, 2).withScale(3));
        for (Router masked : List.of(
                ExpertMask.without(4, 0).beforeChoice(router),
                ExpertMask.without(4, 0).afterChoice(router, RemovedWeight.LOST))) {
            assertThat(masked.experts()).isEqualTo(4);
            assertThat(masked.topK()).isEqualTo(2);
            assertThat(masked.scale()).isEqualTo(3);
            assertThat(masked.tokenWidth()).isEqualTo(OptionalInt.of(4));
            assertThat(masked.toString()).contains("ExpertMask[3 of 4 experts left]", "the choice");
            Matrix token = BACKEND.matrix(1, 4, new double[] {4, 3, 2, 1});
            RouterPass pass = masked.route(token, PLAIN);
            assertThat(experts(pass.routing(), 0)).isEqualTo(experts(masked.routing(token, PLAIN), 0));
            assertThat(pass.auxiliaryLoss()).isZero();
            assertThatThrownBy(() -> pass.backward(new double[2], new double[0]))
                    .isInstanceOf(UnsupportedOperationException.class);
            try (Parameters parameters = masked.parameters()) {
                assertThat(parameters.names()).containsExactly("weight");
                double[] reversed = new double[16];
                for (int e = 0; e < 4; e++) {
                    reversed[e * 4 + 3 - e] = 1;
                }
                Router other = masked.withParameters(Parameters.of(Map.of("weight", BACKEND.matrix(4, 4, reversed))));
                assertThat(experts(other.routing(token, PLAIN), 0)).containsExactly(3, 2);
            }
        }
        ExpertMask.without(4, 0).beforeChoice(router).close();
        Matrix token = BACKEND.matrix(1, 4, new double[4]);
        assertThatThrownBy(() -> router.routing(token, PLAIN)).isInstanceOf(IllegalStateException.class);
    }
}
