package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.RoutingGap;

class TopKPassTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final Renormalization SUM = new Renormalization.Sum();
    private static final double[] NO_LOGITS = new double[0];

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
        assertThat(FiniteDifferences.worst(analytic.parameters().get("weight").toArray(), dW, norm))
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
                loss += pass.routing().weight(t, rank) * dWeights[pass.routing().slot(t, rank)];
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
        TopKPass pass = TopKRouterTest.routeLogits(RouterConfig.topK(3, 2), 1, 2, 3, 3, 1, 2);
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
        TopKPass pass = TopKRouterTest.routeLogits(RouterConfig.topK(3, 1).withRenormalization(SUM), 1, 2, 3);
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
        assertThat(pass.backward(new double[] {1}, NO_LOGITS).input().rows()).isEqualTo(1);
        tokens.close();
        assertThatThrownBy(() -> pass.backward(new double[] {1}, NO_LOGITS)).isInstanceOf(IllegalStateException.class);
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
        TopKPass pass = TopKRouterTest.routeLogits(RouterConfig.topK(3, 2), 1, 2, 3);
        assertThatThrownBy(() -> pass.backward(new double[3], NO_LOGITS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("dWeights: expected 2 numbers (T x K) but was 3");
        assertThatThrownBy(() -> pass.backward(new double[2], new double[2]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("dLogits: expected 3 numbers (T x E) but was 2");
    }
}
