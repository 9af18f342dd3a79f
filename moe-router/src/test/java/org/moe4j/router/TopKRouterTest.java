package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

class TopKRouterTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final Renormalization SUM = new Renormalization.Sum();
    private static final double[] NO_LOGITS = new double[0];

    /** Tokens (T×E) through the unit matrix: the logits are the tokens. */
    static TopKPass routeLogits(RouterConfig config, double... logits) {
        int experts = config.experts();
        double[] unit = new double[experts * experts];
        for (int e = 0; e < experts; e++) {
            unit[e * (experts + 1)] = 1;
        }
        TopKRouter router = TopKRouter.of(config, BACKEND.matrix(experts, experts, unit));
        return router.route(BACKEND.matrix(logits.length / experts, experts, logits), RoutingContext.plain());
    }

    private static double[] weights(Routing routing, int token) {
        return IntStream.range(0, routing.count(token))
                .mapToDouble(rank -> routing.weight(token, rank))
                .toArray();
    }

    private static int[] experts(Routing routing, int token) {
        return IntStream.range(0, routing.count(token))
                .map(rank -> routing.expert(token, rank))
                .toArray();
    }

    static IntStream seeds() {
        return IntStream.range(0, 60);
    }

    @Nested
    class Forward {
        static IntStream seeds() {
            return TopKRouterTest.seeds();
        }

        @ParameterizedTest
        @MethodSource("seeds")
        void equalsTheDefinitionTokenByToken(int seed) {
            SplittableRandom random = new SplittableRandom(seed);
            int experts = 1 + random.nextInt(12);
            int tokens = random.nextInt(8);
            boolean ties = random.nextBoolean();
            double[] logits = random.doubles((long) tokens * experts, -3, 3)
                    .map(l -> ties ? Math.rint(l) + 0.0 : l) // no -0, which the unit matrix would not keep
                    .toArray();
            RouterConfig config =
                    RouterConfig.topK(experts, 1 + random.nextInt(experts)).withScale(1 + random.nextInt(3));
            boolean sum = random.nextBoolean();
            TopKPass pass = routeLogits(sum ? config.withRenormalization(SUM) : config, logits);
            assertThat(pass.logits()).containsExactly(logits);
            assertThat(pass.auxiliaryLoss()).isZero();
            assertThat(pass.routing().tokens()).isEqualTo(tokens);
            for (int t = 0; t < tokens; t++) {
                double[] scores = TokenwiseRouting.softmax(Arrays.copyOfRange(logits, t * experts, (t + 1) * experts));
                int[] best = TokenwiseRouting.best(scores, config.topK());
                double[] selected = TokenwiseRouting.at(scores, best);
                double[] weights = sum ? TokenwiseRouting.unitSum(selected) : selected;
                assertThat(Arrays.copyOfRange(pass.scores(), t * experts, (t + 1) * experts))
                        .containsExactly(scores, within(1e-15));
                assertThat(experts(pass.routing(), t)).containsExactly(best);
                assertThat(weights(pass.routing(), t))
                        .containsExactly(
                                Arrays.stream(weights)
                                        .map(w -> w * config.scale())
                                        .toArray(),
                                within(3e-15));
            }
        }

        @ParameterizedTest
        @MethodSource("seeds")
        void softmaxThenTopKThenSumIsTopKThenSoftmax(int seed) {
            SplittableRandom random = new SplittableRandom(seed);
            int experts = 2 + random.nextInt(30);
            int topK = 1 + random.nextInt(experts);
            double[] logits = random.doubles(experts, -30, 30).toArray();
            Routing routing = routeLogits(RouterConfig.topK(experts, topK).withRenormalization(SUM), logits)
                    .routing();
            int[] best = TokenwiseRouting.best(logits, topK);
            assertThat(experts(routing, 0)).containsExactly(best);
            double[] expected = TokenwiseRouting.softmax(TokenwiseRouting.at(logits, best));
            assertThat(weights(routing, 0)).containsExactly(expected, within(4e-16 * Math.sqrt(experts)));
        }

        @Test
        void weightsSumToTheScaleIfAndOnlyIfTheyAreRenormalised() {
            double[] logits = new SplittableRandom(3).doubles(64, -1, 1).toArray();
            RouterConfig config = RouterConfig.topK(64, 8).withScale(2.5);
            double[] raw = weights(routeLogits(config, logits).routing(), 0);
            double[] unit =
                    weights(routeLogits(config.withRenormalization(SUM), logits).routing(), 0);
            assertThat(Arrays.stream(raw).sum()).isLessThan(1);
            assertThat(Arrays.stream(unit).sum()).isCloseTo(2.5, within(2e-15));
        }

        @Test
        void extremeLogitsGiveFiniteWeights() {
            RouterConfig config = RouterConfig.topK(4, 2).withRenormalization(SUM);
            Routing routing = routeLogits(
                            config,
                            1e4,
                            -1e4,
                            -1e4,
                            -1e4,
                            0,
                            0,
                            0,
                            0,
                            1e-310,
                            -1e-310,
                            Double.MIN_VALUE,
                            0,
                            -1e4,
                            1e4,
                            0,
                            1e4)
                    .routing();
            assertThat(experts(routing, 0)).containsExactly(0, 1);
            assertThat(weights(routing, 0)).containsExactly(1, 0);
            assertThat(experts(routing, 1)).containsExactly(0, 1);
            assertThat(weights(routing, 1)).containsExactly(.5, .5);
            assertThat(experts(routing, 2)).containsExactly(0, 1);
            assertThat(experts(routing, 3)).containsExactly(1, 3);
            assertThat(weights(routing, 3)).containsExactly(.5, .5);
        }

        @Test
        void routingWithoutAPassIsTheSame() {
            Matrix tokens = Initializer.normal(1).draw(BACKEND, 9, 5, 4);
            for (RouterPrecision precision : RouterPrecision.values()) {
                RouterConfig config =
                        RouterConfig.topK(7, 3).withPrecision(precision).withScale(1.5);
                TopKRouter router = TopKRouter.random(config, 5, BACKEND, 2);
                Routing expected = router.route(tokens, RoutingContext.plain()).routing();
                Routing actual = router.routing(tokens, RoutingContext.plain());
                for (int slot = 0; slot < expected.slots(); slot++) {
                    assertThat(actual.expert(slot / 3, slot % 3)).isEqualTo(expected.expert(slot / 3, slot % 3));
                    assertThat(actual.weight(slot / 3, slot % 3)).isEqualTo(expected.weight(slot / 3, slot % 3));
                }
            }
        }

        @Test
        void oneExpertTakesAll() {
            Routing routing = routeLogits(RouterConfig.topK(1, 1), -7, 3).routing();
            assertThat(weights(routing, 0)).containsExactly(1);
            assertThat(weights(routing, 1)).containsExactly(1);
        }

        @Test
        void allExpertsMayBeSelected() {
            Routing routing = routeLogits(RouterConfig.topK(3, 3), 0, 2, 1).routing();
            assertThat(experts(routing, 0)).containsExactly(1, 2, 0);
            assertThat(Arrays.stream(weights(routing, 0)).sum()).isCloseTo(1, within(1e-15));
        }

        @Test
        void expertsAboveIndex255AreSelected() {
            double[] logits = new double[512];
            logits[511] = 5;
            logits[256] = 4;
            assertThat(experts(routeLogits(RouterConfig.topK(512, 2), logits).routing(), 0))
                    .containsExactly(511, 256);
        }

        @Test
        void noTokensAreLegal() {
            TopKPass pass = routeLogits(RouterConfig.topK(4, 2));
            assertThat(pass.routing().tokens()).isZero();
            assertThat(pass.logits()).isEmpty();
            assertThat(pass.scores()).isEmpty();
            Gradients d = pass.backward(new double[0], NO_LOGITS);
            assertThat(d.input().rows()).isZero();
            assertThat(d.input().columns()).isEqualTo(4);
            assertThat(d.parameters().get("weight").toArray()).containsExactly(new double[16]);
        }

        @Test
        void logitsAndScoresAreCopies() {
            TopKPass pass = routeLogits(RouterConfig.topK(2, 1), 1, 2);
            pass.logits()[0] = 9;
            pass.scores()[0] = 9;
            assertThat(pass.logits()).containsExactly(1, 2);
            assertThat(pass.scores()).containsExactly(new ScoreFunction.Softmax().scores(new double[] {1, 2}));
        }
    }

    @Nested
    class Values {
        @Test
        void knowsItsConventions() {
            RouterConfig config = RouterConfig.topK(8, 2).withScale(2.5);
            TopKRouter router = TopKRouter.random(config, 6, BACKEND, 1);
            assertThat(router.experts()).isEqualTo(8);
            assertThat(router.topK()).isEqualTo(2);
            assertThat(router.scale()).isEqualTo(2.5);
            assertThat(router.unitSum()).isFalse();
            assertThat(router.hiddenSize()).isEqualTo(6);
            assertThat(router.config()).isEqualTo(config);
            assertThat(router).hasToString("TopKRouter[hiddenSize=6, " + config + "]");
            assertThat(TopKRouter.random(config.withRenormalization(SUM), 6, BACKEND, 1)
                            .unitSum())
                    .isTrue();
        }

        @Test
        void randomWeightsHaveTheStatedDeviation() {
            Matrix weight = TopKRouter.random(RouterConfig.topK(64, 8), 400, BACKEND, 7)
                    .parameters()
                    .get("weight");
            double squares = Arrays.stream(weight.toArray()).map(v -> v * v).sum();
            assertThat(weight.rows()).isEqualTo(64);
            assertThat(Math.sqrt(squares / 25600)).isCloseTo(1 / 20.0, within(1 / 20.0 * .02));
        }

        @Test
        void theSameSeedGivesTheSameWeight() {
            RouterConfig config = RouterConfig.topK(4, 2);
            Initializer initializer = new Initializer(.01, 3);
            double[] one = TopKRouter.random(config, 3, BACKEND, 5, initializer)
                    .parameters()
                    .get("weight")
                    .toArray();
            assertThat(one).containsExactly(initializer.draw(BACKEND, 4, 3, 5).toArray());
            assertThat(one)
                    .isNotEqualTo(TopKRouter.random(config, 3, BACKEND, 6, initializer)
                            .parameters()
                            .get("weight")
                            .toArray());
        }

        @Test
        void parametersGoOutAndIn() {
            TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
            assertThat(router.parameters().names()).containsExactly("weight");
            router.parameters().close(); // the caller's handles, not the router's
            double[] zeros = new double[12];
            Matrix other = BACKEND.matrix(4, 3, zeros);
            TopKRouter changed = router.withParameters(Parameters.of("weight", other));
            other.close();
            assertThat(changed.parameters().get("weight").toArray()).containsExactly(zeros);
            assertThat(changed.config()).isEqualTo(router.config());
            assertThat(router.parameters().get("weight").toArray()).isNotEqualTo(zeros);
        }

        @Test
        void closingGivesUpTheWeight() {
            TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
            router.close();
            router.close();
            assertThatThrownBy(router::parameters).isInstanceOf(IllegalStateException.class);
        }
    }
}
