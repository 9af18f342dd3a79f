package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.LogitGradients;
import org.moe4j.router.loss.RoutedTokens;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.VariationLoss;
import org.moe4j.router.loss.VariationLoss.Quantity;
import org.moe4j.router.loss.ZLoss;

/** Losses of numbers near the ends of double, of routings whose tokens have different numbers of experts, and of what does not fit. */
class LossEdgesTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final RouterConfig ONE_OF_TWO = RouterConfig.topK(2, 1);
    private static final RoutingContext PLAIN = RoutingContext.plain();

    private static double[] gradient(RouterLoss loss, TopKPass pass) {
        LogitGradients into = LogitGradients.zeros(pass);
        loss.addGradients(List.of(pass), List.of(into));
        return into.logits();
    }

    private static TopKPass pass(RouterConfig config, double... logits) {
        return pass(config, PLAIN, logits);
    }

    private static TopKPass pass(RouterConfig config, RoutingContext context, double... logits) {
        return router(config)
                .route(BACKEND.matrix(logits.length / config.experts(), config.experts(), logits), context);
    }

    /** A router whose logits are its tokens. */
    private static TopKRouter router(RouterConfig config) {
        int experts = config.experts();
        double[] identity = new double[experts * experts];
        for (int e = 0; e < experts; e++) {
            identity[e * experts + e] = 1;
        }
        return TopKRouter.of(config, BACKEND.matrix(experts, experts, identity));
    }

    /** Beside 1e16 there is no room for ln 2. */
    @Test
    void equalLogitsOfAnySizeHaveEqualSoftmax() {
        TopKPass tie = pass(ONE_OF_TWO, 1e16, 1e16);
        assertThat(tie.lossValue(LoadBalancingLoss.transformers(1))).isEqualTo(1);
        assertThat(gradient(LoadBalancingLoss.transformers(1), tie)).containsExactly(.5, -.5);
        assertThat(gradient(new ZLoss(1), tie)).containsExactly(1e16, 1e16);
        TopKPass two = pass(ONE_OF_TWO, 1e16, 1e16, 3e16, 1e16); // sums 1.5 and 0.5
        assertThat(two.lossValue(VariationLoss.vMoeImportance(1))).isCloseTo(.25, within(1e-15));
    }

    /** CV² has no unit: sigmoids of −100 have the value and the gradient of those of −300, whose squares are 0. */
    @ParameterizedTest
    @ValueSource(doubles = {-200, -300, -350, -400, -600})
    void variationOfSmallWeightsIsThatOfLargerOnes(double logit) {
        RouterConfig config = ONE_OF_TWO.withScore(new ScoreFunction.Sigmoid());
        RouterLoss loss = new VariationLoss("weights", 1, Quantity.WEIGHTS, false, 0);
        TopKPass usual = pass(config, -100, -101, -102, -101);
        TopKPass small = pass(config, logit, logit - 1, logit - 2, logit - 1);
        double power = Math.exp(-1);
        double variation = (1 - power) * (1 - power) / ((1 + power) * (1 + power));
        assertThat(usual.lossValue(loss)).isCloseTo(variation, within(1e-12));
        assertThat(small.lossValue(loss)).isCloseTo(variation, within(1e-12));
        assertThat(gradient(loss, small)).containsExactly(gradient(loss, usual), within(1e-12));
    }

    @Test
    void variationOfWeightsThatVanishIsNone() {
        RouterConfig config = ONE_OF_TWO.withScore(new ScoreFunction.Sigmoid());
        RouterLoss loss = new VariationLoss("weights", 1, Quantity.WEIGHTS, false, 0);
        TopKPass pass = pass(config, -740, -742, -800, -800);
        assertThat(pass.lossValue(loss)).isZero();
        assertThat(gradient(loss, pass)).containsExactly(0, 0, 0, 0);
    }

    /** Without noise to speak of an expert is selected again or not: one and one, so nothing varies. */
    @ParameterizedTest
    @ValueSource(doubles = {1e-300, 1e-310, Double.MIN_VALUE})
    void deviationsThatVanishGiveNoNaN(double deviation) {
        TopKPass pass = router(ONE_OF_TWO)
                .withNoise(new RouterNoise.FixedNormal(deviation))
                .route(BACKEND.matrix(2, 2, new double[] {1, 2, 3, 0}), PLAIN.withSeed(3));
        for (RouterLoss loss : List.of(VariationLoss.shazeerLoad(1), VariationLoss.vMoeLoad(1))) {
            LogitGradients into = LogitGradients.zeros(pass);
            loss.addGradients(List.of(pass), List.of(into));
            assertThat(pass.lossValue(loss)).isZero();
            assertThat(into.logits()).containsOnly(0);
            assertThat(into.cleanLogits()).containsOnly(0);
            assertThat(into.deviations()).containsOnly(0);
        }
    }

    /** GShard's second expert is almost never kept here; K stays 2 in divisor and in a fresh top-K. */
    @Test
    void kIsTheRoutersAlsoWhereNoTokenHasSoMany() {
        RouterConfig config =
                RouterConfig.topK(3, 2).withSelection(new ExpertSelection.TopTwo(new SecondExpert.Random(1e9)));
        TopKPass pass = pass(config, PLAIN.withSeed(1), 2, 0, 1);
        assertThat(pass.routing().topK()).isEqualTo(1);
        double sum = Math.exp(2) + 1 + Math.exp(1);
        double first = Math.exp(2) / sum;
        double second = Math.exp(1) / sum;
        assertThat(pass.lossValue(LoadBalancingLoss.megatron(1))).isCloseTo(1.5 * (first + second), within(1e-14));
        assertThat(pass.lossValue(LoadBalancingLoss.transformers(1))).isCloseTo(3 * (first + second), within(1e-14));
        assertThat(pass.lossValue(LoadBalancingLoss.deepSeekBatch(1))).isCloseTo(1.5 * first, within(1e-14));
    }

    @Test
    void pooledLayersNeedTheSameExpertsPerToken() {
        List<TopKPass> passes = List.of(pass(ONE_OF_TWO, 1, 2), pass(RouterConfig.topK(2, 2), 1, 2));
        assertThatThrownBy(() -> LoadBalancingLoss.transformers(1).value(passes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("layers: expected 1 experts per token, as in the first of pooled layers but was 2");
    }

    /** Two valid tokens of four: f·P is a quarter of what it is without the padding. */
    @Test
    void paddingIsPartOfFlaxformersMeans() {
        double sure = Math.log(9); // softmax (0.9, 0.1)
        RoutingContext padded = PLAIN.withValid(RowMask.of(new boolean[] {true, true, false, false}));
        TopKPass pass = pass(ONE_OF_TWO, padded, sure, 0, sure, 0, 0, sure, 0, sure);
        assertThat(pass.lossValue(LoadBalancingLoss.flaxformer(1))).isCloseTo(1.8 / 4, within(1e-14));
        assertThat(pass.lossValue(LoadBalancingLoss.switchTransformer(1))).isCloseTo(1.8, within(1e-14));
    }

    /** Numbers of a layer that no router made. */
    private record Given(Routing routing, RoutingContext context) implements RoutedTokens {
        @Override
        public double[] logits() {
            return new double[routing.tokens() * routing.experts()];
        }

        @Override
        public double[] scores() {
            return logits();
        }

        @Override
        public double[] logitGradients(double[] dScores) {
            return dScores;
        }

        @Override
        public double[] logitGradientsOfWeights(double[] dWeights) {
            return logits();
        }
    }

    @Test
    void refusesContextsOfOtherRows() {
        Routing three = Routing.of(2, 1, new int[] {0, 1, 0}, new double[] {1, 1, 1});
        RoutingContext mask = PLAIN.withValid(RowMask.of(new boolean[4]));
        RoutingContext lengths = PLAIN.withSequences(1, 1);
        for (RouterLoss loss : List.of(
                new ZLoss(1, OptionalDouble.empty()),
                LoadBalancingLoss.deepSeekBatch(1),
                LoadBalancingLoss.deepSeekSequence(1),
                VariationLoss.vMoeImportance(1))) {
            assertThatThrownBy(() -> loss.value(List.of(new Given(three, mask))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("context.valid: expected 3 rows (tokens) but was 4");
            assertThatThrownBy(() -> loss.value(List.of(new Given(three, lengths))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("context.sequenceLengths: expected 3 rows in all (tokens) but was 2");
        }
    }

    @Test
    void refusesGradientsOfAnotherLayer() {
        TopKPass one = pass(ONE_OF_TWO, 1, 2);
        LogitGradients ofTwo = LogitGradients.zeros(pass(ONE_OF_TWO, 1, 2, 3, 4));
        for (RouterLoss loss :
                List.of(new ZLoss(1), LoadBalancingLoss.olmoCore(1), VariationLoss.shazeerImportance(1))) {
            assertThatThrownBy(() -> loss.addGradients(List.of(one), List.of(ofTwo)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("into: expected 2 numbers (T x E) for layer 0 but was 4");
        }
        TopKPass noisy = router(ONE_OF_TWO)
                .withNoise(new RouterNoise.FixedNormal(1))
                .route(BACKEND.matrix(1, 2, new double[] {1, 2}), PLAIN.withSeed(3));
        assertThatThrownBy(() ->
                        VariationLoss.vMoeLoad(1).addGradients(List.of(noisy), List.of(LogitGradients.zeros(one))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("into: expected 2 deviations (of a layer with noise) but was 0");
    }
}
