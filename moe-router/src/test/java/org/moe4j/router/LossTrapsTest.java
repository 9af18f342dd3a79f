package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.ZLoss;

/** What goes wrong with losses elsewhere, each as a number worked out by hand. */
class LossTrapsTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final double[][] TURNED = {{2, 1, 0, -1}, {-1, 2, 1, 0}, {0, -1, 2, 1}, {1, 0, -1, 2}};

    private static double value(RouterLoss loss, LossLayer... layers) {
        return loss.value(LossSubject.passes(List.of(layers)));
    }

    /** Four tokens, each with the logits of the one before turned by one: all experts alike. */
    @Test
    void balancedValues() {
        LossLayer layer = LossLayer.plain(RouterConfig.topK(4, 2), TURNED);
        for (RouterLoss one : List.of(
                LoadBalancingLoss.switchTransformer(1),
                LoadBalancingLoss.meshTensorFlow(1),
                LoadBalancingLoss.megatron(1),
                LoadBalancingLoss.megatronSequence(1),
                LoadBalancingLoss.olmoCore(1),
                LoadBalancingLoss.olmoCoreInstance(1),
                LoadBalancingLoss.megaBlocks(1),
                LoadBalancingLoss.deepSeekBatch(1),
                LoadBalancingLoss.deepSeekSequence(1),
                LoadBalancingLoss.deepSeekV3(1))) {
            assertThat(value(one, layer)).as(one.name()).isCloseTo(1, within(1e-14));
        }
        assertThat(value(LoadBalancingLoss.lingvo(1), layer)).isCloseTo(1 / (1.000001 * 1.000001), within(1e-14));
        assertThat(value(LoadBalancingLoss.flaxformer(1), layer)).isCloseTo(2, within(1e-14));
        assertThat(value(LoadBalancingLoss.transformers(1), layer)).isCloseTo(2, within(1e-14));
    }

    @Test
    void balanceIsNotTheLeast() {
        double even = Math.log(.51 / .49);
        LossLayer layer = LossLayer.plain(
                RouterConfig.topK(2, 1), new double[][] {{even, 0}, {even, 0}, {even, 0}, {-800, 0}, {-800, 0}});
        assertThat(value(LoadBalancingLoss.switchTransformer(1), layer)).isCloseTo(0.9224, within(1e-14));
    }

    /** Two layers, each of which sends all to one expert, though not to the same. */
    @Test
    void pooledLayersHideCollapse() {
        double sure = Math.log(9); // softmax (0.9, 0.1)
        RouterConfig config = RouterConfig.topK(2, 1);
        LossLayer first = LossLayer.plain(config, new double[][] {{sure, 0}, {sure, 0}});
        LossLayer second = LossLayer.plain(config, new double[][] {{0, sure}, {0, sure}});
        assertThat(value(LoadBalancingLoss.transformers(1), first)).isCloseTo(1.8, within(1e-14));
        assertThat(value(LoadBalancingLoss.transformers(1), first, second)).isCloseTo(1, within(1e-14));
        assertThat(value(LoadBalancingLoss.megaBlocks(1), first, second)).isCloseTo(1.8, within(1e-14));
        assertThat(value(LoadBalancingLoss.olmoCore(1), first, second)).isCloseTo(3.6, within(1e-14));
    }

    @Test
    void transformersIsKTimesMegatronAndOlmoCore() {
        LossLayer layer = LossLayer.plain(RouterConfig.topK(4, 3), new double[][] {{2, 1, 0, -1}, {1, 2, .5, 0}});
        double transformers = value(LoadBalancingLoss.transformers(0.01), layer);
        assertThat(transformers).isGreaterThan(0.031);
        assertThat(3 * value(LoadBalancingLoss.megatron(0.01), layer)).isCloseTo(transformers, within(1e-16));
        assertThat(3 * value(LoadBalancingLoss.olmoCore(0.01), layer)).isCloseTo(transformers, within(1e-16));
    }

    /** The bias sends both tokens to experts 1 and 2; their scores are (0.8808, 0.7311, 0.5000, 0.2689), sum 2.3808. */
    @Test
    void freshCountsAreNotThoseOfTheRouting() {
        double[] logits = {2, 1, 0, -1};
        RouterConfig config = RouterConfig.topK(4, 2).withScore(new ScoreFunction.Sigmoid());
        LossLayer layer = LossLayer.plain(config, logits, logits).withBias(-.3, 0, .3, 0);
        double sum = 2.380797077977882; // σ(2) + σ(1) + σ(0) + σ(−1)
        double first = (0.880797077977882 + 0.731058578630005) / sum;
        double chosen = (0.731058578630005 + 0.5) / sum;
        assertThat(value(LoadBalancingLoss.megatron(1), layer)).isCloseTo(2 * first, within(1e-14));
        assertThat(value(LoadBalancingLoss.deepSeekV3(1), layer)).isCloseTo(2 * first, within(1e-14));
        assertThat(value(LoadBalancingLoss.olmoCore(1), layer)).isCloseTo(2 * chosen, within(1e-14));
        assertThat(value(LoadBalancingLoss.deepSeekBatch(1), layer))
                .as("scores not divided by their sum")
                .isCloseTo(2 * chosen * sum, within(1e-14));
        LossLayer groups = LossLayer.plain(
                config.withSelection(new ExpertSelection.GroupLimited(2, 1, new GroupScore.SumOfBest(2))),
                new double[] {3, -3, 1, 1});
        assertThat(groups.chosen(0)).containsExactly(2, 3);
        assertThat(value(LoadBalancingLoss.megatron(1), groups))
                .isGreaterThan(value(LoadBalancingLoss.olmoCore(1), groups));
    }

    /** A router that hands probabilities on as logits has softmax taken twice: total collapse is 2.9 instead of 8, balance 2 in both. */
    @Test
    void softmaxTakenTwiceIsNearlyConstant() {
        double[] sure = {8, 7, 0, 0, 0, 0, 0, 0};
        RouterConfig config = RouterConfig.topK(8, 2);
        LossLayer layer = LossLayer.plain(config, sure, sure);
        LossLayer twice = LossLayer.plain(config, layer.softmax(0), layer.softmax(1));
        assertThat(value(LoadBalancingLoss.transformers(1), layer)).isCloseTo(7.988, within(0.001));
        assertThat(value(LoadBalancingLoss.transformers(1), twice)).isCloseTo(2.884, within(0.001));
        LossLayer even = LossLayer.plain(config, new double[8]);
        assertThat(value(LoadBalancingLoss.transformers(1), even)).isCloseTo(2, within(1e-14));
    }

    /** All sigmoids far below 1e-20, and all tokens at one expert. */
    @Test
    void noEpsilonMakesTheLossVanish() {
        double[] low = {-60, -70};
        LossLayer layer = LossLayer.plain(RouterConfig.topK(2, 1).withScore(new ScoreFunction.Sigmoid()), low, low);
        double share = 1 / (1 + Math.exp(-10));
        assertThat(value(LoadBalancingLoss.olmoCore(1), layer)).isCloseTo(2 * share, within(1e-12));
        assertThat(value(LoadBalancingLoss.deepSeekV3(1), layer)).isCloseTo(2 * share, within(1e-12));
        assertThat(value(LoadBalancingLoss.megatron(1), layer)).isCloseTo(1.75e-6, within(1e-8));
        LossLayer lower = LossLayer.plain(layer.config, new double[] {-800, -800});
        assertThatThrownBy(() -> value(LoadBalancingLoss.olmoCore(1), lower))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("router scores: expected a sum of at least 1.0E-290 but token 0 has 0.0");
        assertThat(value(LoadBalancingLoss.megatron(1), lower)).isZero();
        assertThat(value(LoadBalancingLoss.olmoCore(1), lower.withValid(false))).isZero();
    }

    /** Two sequences of 1 and 3 tokens, each for itself at one expert with score 0.9: 1.8 each. */
    @Test
    void sequencesOfDifferentLengths() {
        double sure = Math.log(9);
        LossLayer layer = LossLayer.plain(
                        RouterConfig.topK(2, 1), new double[][] {{sure, 0}, {0, sure}, {0, sure}, {0, sure}})
                .withLengths(1, 0, 3);
        assertThat(value(LoadBalancingLoss.deepSeekSequence(1), layer)).isCloseTo(1.8, within(1e-14));
        assertThat(value(LoadBalancingLoss.olmoCoreInstance(1), layer)).isCloseTo(1.8, within(1e-14));
        assertThat(value(LoadBalancingLoss.megatronSequence(1), layer))
                .as("(1² + 3²)/2 of 2²: 1.25 times as much")
                .isCloseTo(2.25, within(1e-14));
        assertThat(value(LoadBalancingLoss.olmoCore(1), layer))
                .as("2·(0.25·0.3 + 0.75·0.7)")
                .isCloseTo(1.2, within(1e-14));
    }

    @ParameterizedTest
    @MethodSource("org.moe4j.router.LossSubject#all")
    void paddedTokensDoNotCount(LossSubject subject) {
        RouterConfig config = RouterConfig.topK(4, 2).withScore(new ScoreFunction.Sigmoid());
        LossLayer layer = LossLayer.plain(config, TURNED[0], TURNED[3], new double[] {9, 8, 7, 6})
                .withValid(true, true, false);
        LossLayer other = LossLayer.plain(config, TURNED[0], TURNED[3], new double[] {-900, -800, -900, -800})
                .withValid(true, true, false);
        assertThat(value(subject.loss(), layer)).isEqualTo(value(subject.loss(), other));
        double[] gradients = LossSubject.gradients(subject.loss(), List.of(other));
        assertThat(gradients).endsWith(0, 0, 0, 0).doesNotContain(Double.NaN);
    }

    @ParameterizedTest
    @MethodSource("org.moe4j.router.LossSubject#all")
    void nothingToCountIsZeroWithoutGradient(LossSubject subject) {
        RouterConfig config = RouterConfig.topK(4, 2);
        for (LossLayer layer : List.of(
                LossLayer.plain(config),
                LossLayer.plain(config).withLengths(0, 0),
                LossLayer.plain(config, TURNED)
                        .withValid(false, false, false, false)
                        .withLengths(1, 0, 3))) {
            assertThat(subject.value(List.of(layer, layer))).isZero();
            for (double gradient : LossSubject.gradients(subject.loss(), List.of(layer, layer))) {
                assertThat(gradient).isZero();
            }
        }
        LossLayer one = LossLayer.plain(RouterConfig.topK(1, 1), new double[][] {{3}, {-2}});
        assertThat(subject.value(List.of(one))).isFinite();
        assertThat(LossSubject.gradients(subject.loss(), List.of(one))).doesNotContain(Double.NaN);
    }

    /** With a single expert per token, divided by itself, the output teaches the router nothing; the loss does. */
    @Test
    void aRouterOfOneExpertLearnsFromTheLoss() {
        RouterConfig config = RouterConfig.topK(2, 1).withRenormalization(new Renormalization.Sum());
        LossLayer layer = LossLayer.plain(config, new double[] {1, 0});
        try (Gradients output = layer.pass().backward(new double[] {1}, new double[0])) {
            assertThat(output.input().toArray()).containsExactly(new double[] {0, 0}, within(1e-16));
        }
        double p = 1 / (1 + Math.exp(-1));
        assertThat(LossSubject.gradients(LoadBalancingLoss.switchTransformer(1), List.of(layer)))
                .containsExactly(new double[] {2 * p * (1 - p), -2 * p * (1 - p)}, within(1e-14));
    }

    @Test
    void capacityChangesNoCount() {
        RouterConfig config = RouterConfig.topK(4, 2);
        TopKRouter router = TopKRouter.random(config, 3, BACKEND, 1).withLosses(LoadBalancingLoss.olmoCore(1));
        double[] x = {1, 2, 3, 1, 2, 2, 1, 3, 3, 2, 2, 3};
        try (Matrix tokens = BACKEND.matrix(4, 3, x);
                MoeLayer layer = MoeLayer.of(router, SwiGluExperts.random(new ExpertShape(4, 3, 2), BACKEND, 2))
                        .withCapacity(Capacity.factor(0.5));
                MoePass pass = layer.forward(tokens)) {
            assertThat(pass.droppedAssignments()).isPositive();
            assertThat(pass.auxiliaryLoss())
                    .isEqualTo(router.route(tokens, RoutingContext.plain()).auxiliaryLoss())
                    .isGreaterThan(1);
        }
    }

    /** Nothing is computed before it is read: a loss that cannot be computed does not disturb routing, and a router without does not care. */
    @Test
    void lossesAreComputedWhenTheyAreRead() {
        RouterConfig config = RouterConfig.topK(2, 1).withScore(new ScoreFunction.Sigmoid());
        LossLayer layer = LossLayer.plain(config, new double[] {-800, -800});
        TopKRouter router = TopKRouter.of(config, BACKEND.matrix(2, 2, new double[] {1, 0, 0, 1}));
        Matrix tokens = BACKEND.matrix(1, 2, layer.flat());
        TopKPass pass = router.withLosses(LoadBalancingLoss.olmoCore(1)).route(tokens, RoutingContext.plain());
        assertThat(pass.routing().expert(0, 0)).isZero();
        assertThatThrownBy(pass::auxiliaryLoss).isInstanceOf(ArithmeticException.class);
        assertThatThrownBy(() -> pass.backward(new double[1], new double[0])).isInstanceOf(ArithmeticException.class);
        TopKPass free = router.route(tokens, RoutingContext.plain());
        assertThat(free.auxiliaryLoss()).isZero();
        assertThat(free.lossValues()).isEmpty();
        assertThat(free.backward(new double[1], new double[0]).input().toArray())
                .containsOnly(0);
    }

    @Test
    void logSumExpOfLargeLogitsIsFinite() {
        LossLayer layer =
                LossLayer.plain(RouterConfig.topK(2, 1), new double[] {1000, 1000}, new double[] {-1000, -1000});
        double ln2 = Math.log(2);
        double expected = (Math.pow(1000 + ln2, 2) + Math.pow(ln2 - 1000, 2)) / 2;
        assertThat(value(new ZLoss(1), layer)).isCloseTo(expected, within(1e-8));
        assertThat(value(new ZLoss(1), layer, layer)).isCloseTo(2 * expected, within(1e-8));
    }
}
