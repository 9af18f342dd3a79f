package org.moe4j.router.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.router.trace.RoutingRecorderTest.EXPERTS;
import static org.moe4j.router.trace.RoutingRecorderTest.HIDDEN;
import static org.moe4j.router.trace.RoutingRecorderTest.layer;
import static org.moe4j.router.trace.RoutingRecorderTest.router;
import static org.moe4j.router.trace.RoutingRecorderTest.tokens;
import static org.moe4j.router.trace.RoutingRecorderTest.varying;

import java.util.Arrays;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

class ReplayRouterTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();

    private static Routing recorded(Router router, Matrix tokens) {
        RoutingRecorder recorder = RoutingRecorder.of(MaskedRows.RECORDED);
        recorder.router("0", router).route(tokens, RoutingContext.plain());
        return recorder.trace().layer("0").routing();
    }

    private static Matrix matrix(double[] values) {
        return BACKEND.matrix(values.length / HIDDEN, HIDDEN, values);
    }

    /** Σ output ⊙ d. */
    private static double loss(MoeLayer layer, double[] tokens, double[] d) {
        double[] output = layer.apply(matrix(tokens)).toArray();
        double sum = 0;
        for (int i = 0; i < d.length; i++) {
            sum += output[i] * d[i];
        }
        return sum;
    }

    private static void assertGradient(MoeLayer layer, double[] tokens) {
        double[] d = tokens(8, tokens.length / HIDDEN).toArray();
        try (MoePass pass = layer.forward(matrix(tokens));
                Gradients gradients = pass.backward(matrix(d))) {
            double[] numeric = FiniteDifferences.gradient(x -> loss(layer, x, d), tokens);
            double[] analytic = gradients.input().toArray();
            assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(analytic)))
                    .isLessThanOrEqualTo(1);
        }
    }

    @Nested
    class Frozen {
        @Test
        void aLayerWithTheReplayOfItsOwnChoiceGivesTheSameBits() {
            for (TopKRouter router : List.of(router(3), varying(3))) {
                MoeLayer layer = layer(router);
                Matrix tokens = tokens(1, 23);
                Router replay = ReplayRouter.of(recorded(router, tokens), router);
                MoeLayer again = layer.withRouter(replay);
                assertThat(again.forward(tokens).output().toArray())
                        .containsExactly(layer.forward(tokens).output().toArray());
                assertThat(again.apply(tokens).toArray())
                        .containsExactly(layer.apply(tokens).toArray());
                assertThat(replay.fixedCount()).isEqualTo(router.fixedCount());
                assertThat(replay.unitSum()).isEqualTo(router.unitSum());
                assertThat(replay.scale()).isEqualTo(router.scale());
                assertThat(replay.topK()).isEqualTo(router.topK());
                assertThat(replay.experts()).isEqualTo(EXPERTS);
            }
        }

        @Test
        void scaleAndUnitSumAreThoseOfTheRouter() {
            RouterConfig config = RouterConfig.topK(EXPERTS, 2)
                    .withRenormalization(new Renormalization.Sum())
                    .withScale(2.5);
            TopKRouter router = TopKRouter.random(config, HIDDEN, BACKEND, 1);
            Routing routing = recorded(router, tokens(1, 3));
            assertThat(ReplayRouter.of(routing, router).scale()).isEqualTo(2.5);
            assertThat(ReplayRouter.of(routing, router).unitSum()).isTrue();
            assertThat(ReplayRouter.of(routing).scale()).isEqualTo(1);
            assertThat(ReplayRouter.of(routing).unitSum()).isFalse();
            assertThat(ReplayRouter.of(routing).fixedCount()).isTrue();
            assertThat(ReplayRouter.of(routing)).hasToString("ReplayRouter[" + routing + "]");
        }

        @Test
        void tokensGetTheGradientOfTheExpertsAlone() {
            Matrix tokens = tokens(1, 7);
            MoeLayer replay = layer(ReplayRouter.of(recorded(router(3), tokens)));
            assertGradient(replay, tokens(5, 7).toArray());
            RouterPass pass = replay.router().route(tokens, RoutingContext.plain());
            assertThat(pass.auxiliaryLoss()).isZero();
            try (Gradients gradients = pass.backward(new double[14], new double[0])) {
                assertThat(gradients.input().toArray()).containsOnly(0).hasSize(7 * HIDDEN);
                assertThat(gradients.parameters().names()).isEmpty();
            }
        }

        @Test
        void whatDoesNotFitIsRefused() {
            Routing routing = recorded(router(3), tokens(1, 4));
            ReplayRouter replay = ReplayRouter.of(routing);
            assertThatThrownBy(() -> replay.route(tokens(1, 3), RoutingContext.plain()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("tokens: expected 4 tokens (of the recorded routing) but was 3");
            assertThatThrownBy(() -> replay.routing(tokens(1, 5), RoutingContext.plain()))
                    .hasMessage("tokens: expected 4 tokens (of the recorded routing) but was 5");
            RouterPass pass = replay.route(tokens(1, 4), RoutingContext.plain());
            assertThatThrownBy(() -> pass.backward(new double[7], new double[0]))
                    .hasMessage("dWeights: expected 8 numbers (one per slot) but was 7");
            assertThatThrownBy(() -> pass.backward(new double[8], new double[1]))
                    .hasMessage("dLogits: expected 0 numbers (a replayed routing has no logits) but was 1");
            TopKRouter other = TopKRouter.random(RouterConfig.topK(EXPERTS, 3), HIDDEN, BACKEND, 1);
            assertThatThrownBy(() -> ReplayRouter.of(routing, other))
                    .hasMessage("routing: expected 12 assignments (topK of the router for each token) but was 8");
            TopKRouter more = TopKRouter.random(RouterConfig.topK(7, 2), HIDDEN, BACKEND, 1);
            assertThatThrownBy(() -> ReplayRouter.of(routing, more))
                    .hasMessage("routing: expected 7 experts (of the router) but was 6");
            Routing none = Routing.ofVarying(3, new int[] {0, 0}, new int[0], new double[0]);
            assertThatThrownBy(() -> ReplayRouter.of(none))
                    .hasMessage("routing: expected 1..3 (experts per token) but was 0");
            assertThatThrownBy(() -> replay.withParameters(Parameters.of("weight", tokens(1, 1))))
                    .isInstanceOf(RuntimeException.class);
            assertThat(replay.withParameters(replay.parameters())).isSameAs(replay);
        }
    }

    /** The experts are recorded, their weights the router's own. */
    @Nested
    class RecordedExperts {
        @Test
        void theRoutersOwnChoiceGivesTheSameBitsAndGradients() {
            for (TopKRouter router : List.of(router(3), varying(3))) {
                Matrix tokens = tokens(1, 23);
                TopKRouter replay = router.withSelection(new ExpertSelection.Recorded(recorded(router, tokens)));
                try (MoePass pass = layer(router).forward(tokens);
                        MoePass again = layer(replay).forward(tokens);
                        Gradients gradients = pass.backward(tokens);
                        Gradients others = again.backward(tokens)) {
                    assertThat(again.output().toArray())
                            .containsExactly(pass.output().toArray());
                    assertThat(others.input().toArray())
                            .containsExactly(gradients.input().toArray());
                    assertThat(others.parameters().get("router.weight").toArray())
                            .containsExactly(
                                    gradients.parameters().get("router.weight").toArray());
                }
                assertThat(layer(replay).apply(tokens).toArray())
                        .containsExactly(layer(router).apply(tokens).toArray());
                assertThat(replay.fixedCount()).isEqualTo(router.fixedCount());
            }
        }

        /** Weights by the definition: softmax of the router's logits over all experts, at the experts of another router. */
        @Test
        void weightsAreMadeOfTheLogitsNow() {
            Matrix tokens = tokens(1, 9);
            TopKRouter router = router(3);
            Routing others = recorded(router(4), tokens);
            Routing replayed =
                    router.withSelection(new ExpertSelection.Recorded(others)).routing(tokens, RoutingContext.plain());
            double[] logits = router.route(tokens, RoutingContext.plain()).logits();
            for (int t = 0; t < 9; t++) {
                double[] row = Arrays.copyOfRange(logits, t * EXPERTS, (t + 1) * EXPERTS);
                double sum = Arrays.stream(row).map(Math::exp).sum();
                for (int rank = 0; rank < 2; rank++) {
                    int expert = others.expert(t, rank);
                    assertThat(replayed.expert(t, rank)).isEqualTo(expert);
                    assertThat(replayed.weight(t, rank)).isCloseTo(Math.exp(row[expert]) / sum, Offset.offset(1e-14));
                }
            }
        }

        @Test
        void theRouterLearnsThroughTheWeights() {
            Matrix tokens = tokens(1, 6);
            RouterConfig config = RouterConfig.topK(EXPERTS, 2).withRenormalization(new Renormalization.Sum());
            TopKRouter router = TopKRouter.random(config, HIDDEN, BACKEND, 3);
            ExpertSelection selection = new ExpertSelection.Recorded(recorded(router(4), tokens));
            MoeLayer layer = layer(router.withSelection(selection));
            assertGradient(layer, tokens(5, 6).toArray());
            double[] d = tokens(8, 6).toArray();
            double[] weight = router.parameters().get("weight").toArray();
            try (MoePass pass = layer.forward(tokens);
                    Gradients gradients = pass.backward(matrix(d))) {
                double[] analytic = gradients.parameters().get("router.weight").toArray();
                double[] numeric = FiniteDifferences.gradient(
                        w -> loss(
                                layer.withRouter(
                                        TopKRouter.of(config, matrix(w)).withSelection(selection)),
                                tokens.toArray(),
                                d),
                        weight);
                assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(analytic)))
                        .isLessThanOrEqualTo(1);
                assertThat(FiniteDifferences.norm(analytic)).isPositive();
            }
        }

        @Test
        void aSelectionBiasHasNoSay() {
            Matrix tokens = tokens(1, 6);
            TopKRouter router = router(3);
            ExpertSelection selection = new ExpertSelection.Recorded(recorded(router(4), tokens));
            RouterConfig biased = router.config().withSelectionBias(true).withSelection(selection);
            try (Parameters parameters = router.parameters()) {
                Routing replayed =
                        TopKRouter.of(biased, parameters.get("weight")).routing(tokens, RoutingContext.plain());
                RoutingRecorderTest.assertSame(
                        replayed, router.withSelection(selection).routing(tokens, RoutingContext.plain()));
            }
        }

        @Test
        void whatDoesNotFitIsRefused() {
            ExpertSelection selection = new ExpertSelection.Recorded(recorded(router(3), tokens(1, 4)));
            TopKRouter replay = router(3).withSelection(selection);
            assertThatThrownBy(() -> replay.route(tokens(1, 3), RoutingContext.plain()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("tokens: expected 4 tokens (of the recorded routing) but was 3");
            assertThatThrownBy(() -> replay.routing(tokens(1, 5), RoutingContext.plain()))
                    .hasMessage("tokens: expected 4 tokens (of the recorded routing) but was 5");
            assertThatThrownBy(() -> RouterConfig.topK(7, 2).withSelection(selection))
                    .hasMessage("routing: expected 7 experts (of the router) but was 6");
            assertThatThrownBy(() -> RouterConfig.topK(EXPERTS, 1).withSelection(selection))
                    .hasMessage("routing: expected 1 experts per token (topK of the router) but was 2");
        }

        @Test
        void noTokensAreReplayedToo() {
            Routing none = Routing.ofVarying(EXPERTS, new int[1], new int[0], new double[0]);
            Routing replayed = router(3)
                    .withSelection(new ExpertSelection.Recorded(none))
                    .routing(tokens(1, 0), RoutingContext.plain());
            assertThat(replayed.tokens()).isZero();
        }
    }
}
