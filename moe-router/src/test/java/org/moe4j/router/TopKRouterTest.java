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
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.RoutingGap;

class TopKRouterTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final Renormalization SUM = new Renormalization.Sum();
    private static final double[] NO_LOGITS = new double[0];

    /** Tokens (T×E) through the unit matrix: the logits are the tokens. */
    private static TopKPass routeLogits(RouterConfig config, double... logits) {
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
                        .containsExactly(scores);
                assertThat(experts(pass.routing(), t)).containsExactly(best);
                assertThat(weights(pass.routing(), t))
                        .containsExactly(Arrays.stream(weights)
                                .map(w -> w * config.scale())
                                .toArray());
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
            assertThat(pass.scores()).containsExactly(TokenwiseRouting.softmax(new double[] {1, 2}));
        }
    }

    @Nested
    class Backward {
        @ParameterizedTest
        @CsvSource({
            "1, 1, 1, 1, false",
            "1, 3, 2, 1, true",
            "2, 3, 5, 2, false",
            "5, 4, 8, 3, true",
            "7, 6, 8, 8, false",
            "7, 6, 8, 8, true",
            "3, 17, 16, 4, true",
            "4, 2, 3, 1, false",
        })
        void agreesWithDifferences(int tokens, int hidden, int experts, int topK, boolean sum) {
            RouterConfig plain = RouterConfig.topK(experts, topK).withScale(1.75);
            RouterConfig config = sum ? plain.withRenormalization(SUM) : plain;
            SplittableRandom random = new SplittableRandom(tokens + 31L * hidden + 977L * experts + topK);
            double[] x;
            double[] w;
            do { // away from ties: differences must not flip a selection
                x = random.doubles((long) tokens * hidden, -1.5, 1.5).toArray();
                w = random.doubles((long) experts * hidden, -1.5, 1.5).toArray();
            } while (RoutingGap.of(pass(config, x, w, tokens, hidden).scores(), experts, topK) < RoutingGap.ENOUGH);
            double[] dWeights = random.doubles((long) tokens * topK, -1, 1).toArray();
            double[] dLogits = random.doubles((long) tokens * experts, -1, 1).toArray();
            double[] tokensAt = x;
            double[] weightAt = w;
            Gradients analytic = pass(config, x, w, tokens, hidden).backward(dWeights, dLogits);
            double[] dX = FiniteDifferences.gradient(
                    at -> loss(pass(config, at, weightAt, tokens, hidden), dWeights, dLogits), x);
            double[] dW = FiniteDifferences.gradient(
                    at -> loss(pass(config, tokensAt, at, tokens, hidden), dWeights, dLogits), w);
            double norm = FiniteDifferences.norm(dX, dW);
            assertThat(FiniteDifferences.worst(analytic.input().toArray(), dX, norm))
                    .isLessThanOrEqualTo(1);
            assertThat(FiniteDifferences.worst(
                            analytic.parameters().get("weight").toArray(), dW, norm))
                    .isLessThanOrEqualTo(1);
        }

        private TopKPass pass(RouterConfig config, double[] x, double[] w, int tokens, int hidden) {
            TopKRouter router = TopKRouter.of(config, BACKEND.matrix(config.experts(), hidden, w));
            return router.route(BACKEND.matrix(tokens, hidden, x), RoutingContext.plain());
        }

        private double loss(TopKPass pass, double[] dWeights, double[] dLogits) {
            double loss = 0;
            for (int t = 0; t < pass.routing().tokens(); t++) {
                for (int rank = 0; rank < pass.routing().topK(); rank++) {
                    loss += pass.routing().weight(t, rank)
                            * dWeights[pass.routing().slot(t, rank)];
                }
            }
            double[] logits = pass.logits();
            for (int i = 0; i < logits.length; i++) {
                loss += logits[i] * dLogits[i];
            }
            return loss;
        }

        @Test
        void furtherLogitGradientsAreAdded() {
            TopKPass pass = routeLogits(RouterConfig.topK(3, 2), 1, 2, 3, 3, 1, 2);
            double[] dWeights = {1, -1, .5, 2};
            double[] dLogits = {1, 2, 3, 4, 5, 6};
            double[] without = pass.backward(dWeights, NO_LOGITS).input().toArray();
            double[] alone = pass.backward(new double[4], dLogits).input().toArray();
            double[] both = pass.backward(dWeights, dLogits).input().toArray();
            assertThat(alone).containsExactly(dLogits);
            for (int i = 0; i < both.length; i++) {
                assertThat(both[i]).isCloseTo(without[i] + alone[i], within(1e-15));
            }
            assertThat(dLogits).containsExactly(1, 2, 3, 4, 5, 6);
        }

        @Test
        void aSingleRenormalisedWeightTeachesTheRouterNothing() {
            TopKPass pass = routeLogits(RouterConfig.topK(3, 1).withRenormalization(SUM), 1, 2, 3);
            assertThat(pass.backward(new double[] {5}, NO_LOGITS)
                            .parameters()
                            .get("weight")
                            .toArray())
                    .containsExactly(new double[9]);
        }

        @Test
        void outlivesTheCallersWeightHandleButReadsTheTokens() {
            Matrix weight = BACKEND.matrix(2, 1, new double[] {1, 2});
            TopKRouter router = TopKRouter.of(RouterConfig.topK(2, 1), weight);
            weight.close();
            Matrix tokens = BACKEND.matrix(1, 1, new double[] {1});
            TopKPass pass = router.route(tokens, RoutingContext.plain());
            assertThat(pass.backward(new double[] {1}, NO_LOGITS).input().rows())
                    .isEqualTo(1);
            tokens.close();
            assertThatThrownBy(() -> pass.backward(new double[] {1}, NO_LOGITS))
                    .isInstanceOf(IllegalStateException.class);
        }

        @Test
        void aPassOfALayerOutlivesTheCallersTokens() {
            Matrix tokens = Initializer.normal(1).draw(BACKEND, 5, 3, 1);
            SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(4, 3, 2), BACKEND, 2);
            MoeLayer layer = MoeLayer.of(TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 3), experts);
            try (MoePass pass = layer.forward(tokens)) {
                tokens.close();
                Gradients d = pass.backward(pass.output());
                assertThat(d.parameters().get("router.weight").rows()).isEqualTo(4);
            }
        }

        @Test
        void wrongLengthsAreRefused() {
            TopKPass pass = routeLogits(RouterConfig.topK(3, 2), 1, 2, 3);
            assertThatThrownBy(() -> pass.backward(new double[3], NO_LOGITS))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("dWeights: expected 2 numbers (T x K) but was 3");
            assertThatThrownBy(() -> pass.backward(new double[2], new double[2]))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("dLogits: expected 3 numbers (T x E) but was 2");
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

    @Nested
    class Errors {
        @ParameterizedTest
        @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
        void aLogitThatIsNotFiniteIsNamed(double bad) {
            double[] logits = new double[20 * 4];
            logits[17 * 4 + 3] = bad;
            logits[19 * 4] = bad;
            TopKRouter router = TopKRouter.of(RouterConfig.topK(4, 2), BACKEND.matrix(4, 1, new double[] {1, 1, 1, 1}));
            assertThatThrownBy(() -> router.route(BACKEND.matrix(1, 1, new double[] {bad}), RoutingContext.plain()))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage("router logits: expected finite values but token 0, expert 0 is " + bad);
            assertThatThrownBy(() -> routeLogits(RouterConfig.topK(4, 2), logits))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessageMatching("router logits: expected finite values but token 17, expert \\d is .*");
        }

        @Test
        void anOverflowOfOneExpertIsNamed() {
            TopKRouter router = TopKRouter.of(
                    RouterConfig.topK(4, 2), BACKEND.matrix(4, 2, new double[] {1, 1, 1, 1, 1, 1, 1e308, -1e308}));
            double[] tokens = new double[18 * 2];
            tokens[34] = 10;
            tokens[35] = 10;
            assertThatThrownBy(() -> router.route(BACKEND.matrix(18, 2, tokens), RoutingContext.plain()))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage("router logits: expected finite values but token 17, expert 3 is NaN");
        }

        @Test
        void tokensOfAnotherWidthAreRefused() {
            TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 2048, BACKEND, 1);
            assertThatThrownBy(() -> router.route(BACKEND.buffer(1, 1024), RoutingContext.plain()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("tokens: expected 2048 columns (hidden size of the router) but was 1024");
        }

        @Test
        void tokensOfAnotherBackendAreRefused() {
            TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
            Matrix foreign = new ForeignMatrix(1, 3);
            assertThatThrownBy(() -> router.route(foreign, RoutingContext.plain()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("tokens: expected a matrix of ReferenceBackend but was one of Foreign;"
                            + " convert it with backend.copyOf(tokens)");
        }

        @Test
        void aContextOfAnotherLengthIsRefused() {
            TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
            RoutingContext context =
                    new RoutingContext(Optional.of(RowMask.of(new boolean[2])), List.of(), OptionalLong.empty());
            assertThatThrownBy(() -> router.route(BACKEND.buffer(1, 3), context))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("context.valid: expected 1 rows (tokens) but was 2");
        }

        @Test
        void weightsOfAnotherShapeAreRefused() {
            RouterConfig config = RouterConfig.topK(4, 2);
            assertThatThrownBy(() -> TopKRouter.of(config, BACKEND.buffer(3, 2)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("weight: expected 4 rows (experts) but was 3");
            assertThatThrownBy(() -> TopKRouter.of(config, BACKEND.buffer(4, 0)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("weight: expected at least 1 column (hidden size) but was 0");
            assertThatThrownBy(() -> TopKRouter.random(config, 0, BACKEND, 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("hiddenSize: expected at least 1 but was 0");
        }

        @Test
        void parametersThatDoNotFitAreRefused() {
            TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
            assertThatThrownBy(() -> router.withParameters(Parameters.of("weight", BACKEND.buffer(4, 2))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("weight: expected 4 x 3 (shape of the weight it replaces) but was 4 x 2");
            assertThatThrownBy(() -> router.withParameters(Parameters.of("wait", BACKEND.buffer(4, 3))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("parameters: expected a matrix named weight but was a set without it");
        }
    }
}
