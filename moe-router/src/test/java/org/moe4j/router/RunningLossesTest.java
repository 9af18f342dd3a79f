package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.router.loss.GlobalBalancingLoss;
import org.moe4j.router.loss.HierarchicalLoss;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.RoutedTokens;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.RouterLosses;
import org.moe4j.router.loss.RouterLosses.Running;
import org.moe4j.router.loss.VariationLoss;
import org.moe4j.router.loss.ZLoss;

/** Losses of tokens that come in blocks, against the sources' formulas on all of them and against closed forms. */
class RunningLossesTest {
    private static final int CASES = 300;
    private static final int EXPERTS = 64;
    private static final int TOP_K = 8;
    private static final double LINGVO = 1 / (1.000001 * 1.000001); // n is the valid rows and a millionth of all rows

    /** The rows of a layer, from one to another, as a trace has them. */
    private static RoutedTokens block(LossLayer layer, int from, int to) {
        LossLayer part = new LossLayer(
                layer.config,
                layer.bias,
                Arrays.copyOfRange(layer.logits, from, to),
                Arrays.copyOfRange(layer.valid, from, to),
                List.of());
        return layer.config.selectionBias()
                ? layer.config.routed(part.flat(), SelectionBias.of(layer.bias), part.context())
                : layer.config.routed(part.flat(), part.context());
    }

    private static List<LossLayer> draw(long seed) {
        return LossDraw.layers(seed).stream().map(LossLayer::withLengths).toList();
    }

    private static LossLayer together(List<LossLayer> layers) {
        List<double[]> logits = new ArrayList<>();
        List<Boolean> valid = new ArrayList<>();
        for (LossLayer layer : layers) {
            logits.addAll(Arrays.asList(layer.logits));
            IntStream.range(0, layer.valid.length).forEach(t -> valid.add(layer.valid[t]));
        }
        boolean[] mask = new boolean[valid.size()];
        for (int t = 0; t < mask.length; t++) {
            mask[t] = valid.get(t);
        }
        LossLayer first = layers.get(0);
        return new LossLayer(first.config, first.bias, logits.toArray(double[][]::new), mask, List.of());
    }

    @ParameterizedTest
    @MethodSource("org.moe4j.router.LossSubject#all")
    void blocksGiveWhatTheDefinitionGivesOfAllTokens(LossSubject subject) {
        for (long seed = 0; seed < CASES; seed++) {
            List<LossLayer> layers = draw(seed);
            SplittableRandom random = new SplittableRandom(seed);
            Running running = RouterLosses.running(List.of(subject.loss()), layers.size());
            for (int l = 0; l < layers.size(); l++) {
                int tokens = layers.get(l).logits.length;
                for (int from = 0; from < tokens; ) {
                    int to = random.nextInt(from, tokens) + 1;
                    running.add(l, block(layers.get(l), from, to));
                    from = to;
                }
            }
            Running.Value value = running.values().get(0);
            assertThat(value.loss()).isEqualTo(subject.loss());
            assertClose(value.contribution(), subject.definition().applyAsDouble(layers), seed);
            double c = LossSubject.COEFFICIENT;
            double sum = 0;
            for (int l = 0; l < layers.size(); l++) {
                double one = subject.definition().applyAsDouble(List.of(layers.get(l))) / c;
                assertClose(value.perLayer().get(l), one, seed);
                sum += one;
            }
            assertClose(value.meanPerLayer(), sum / layers.size(), seed);
            assertClose(value.pooled(), subject.definition().applyAsDouble(List.of(together(layers))) / c, seed);
        }
    }

    private static void assertClose(double actual, double expected, long seed) {
        assertThat(actual).as("seed %d", seed).isCloseTo(expected, within(1e-11 * Math.max(1, Math.abs(expected))));
    }

    /** The logits of a trace, and those that a router computes. */
    @Test
    void logitsOfATraceAreRoutedLikeARoutersOwn() {
        for (long seed = 0; seed < CASES; seed++) {
            LossLayer layer = draw(seed).get(0);
            RoutedTokens routed = block(layer, 0, layer.logits.length);
            TopKPass pass = layer.pass();
            assertThat(routed.logits()).isEqualTo(layer.flat());
            assertThat(routed.scores()).isEqualTo(pass.scores());
            assertThat(routed.topK()).isEqualTo(pass.topK());
            for (int t = 0; t < layer.logits.length; t++) {
                for (int rank = 0; rank < pass.routing().count(t); rank++) {
                    assertThat(routed.routing().expert(t, rank)).isEqualTo(layer.chosen(t)[rank]);
                    assertThat(routed.routing().weight(t, rank))
                            .isEqualTo(pass.routing().weight(t, rank));
                }
            }
            double[] ones = new double[routed.scores().length];
            Arrays.fill(ones, 0.5);
            assertThat(routed.logitGradients(ones)).isEqualTo(pass.logitGradients(ones));
            double[] slots = new double[routed.routing().slots()];
            Arrays.fill(slots, 0.5);
            assertThat(routed.logitGradientsOfWeights(slots)).isEqualTo(pass.logitGradientsOfWeights(slots));
        }
    }

    private static double[][] logits(int tokens, int layer, double high, boolean turning) {
        double[][] rows = new double[tokens][EXPERTS];
        for (int t = 0; t < tokens; t++) {
            for (int k = 0; k < TOP_K; k++) {
                rows[t][((turning ? t : layer * TOP_K) + k) % EXPERTS] = high;
            }
        }
        return rows;
    }

    private static List<RouterLoss> all(double coefficient) {
        List<RouterLoss> losses = new ArrayList<>(RouterLosses.balancing(coefficient));
        losses.add(new ZLoss(coefficient));
        return losses;
    }

    private static Running layers(int layers, boolean turning) {
        Running running = RouterLosses.running(all(0.5), layers);
        for (int l = 0; l < layers; l++) {
            LossLayer layer = LossLayer.plain(RouterConfig.topK(EXPERTS, TOP_K), logits(2 * EXPERTS, l, 1, turning));
            running.add(l, block(layer, 0, 50)).add(l, block(layer, 50, 2 * EXPERTS));
        }
        return running;
    }

    /** What the formulas say of f = K/E, or 1/E of the first choice, and P = 1/E: 8 for transformers, as the article has it. */
    private static double balanced(RouterLoss loss) {
        return switch (loss.name()) {
            case "transformers", "flaxformer" -> TOP_K;
            case "z-loss" -> Math.pow(Math.log(TOP_K * Math.E + EXPERTS - TOP_K), 2);
            case "lingvo" -> LINGVO;
            default -> 1;
        };
    }

    @Test
    void evenRoutingHasTheBalancedValueOfEachNormalisation() {
        List<Running.Value> values = layers(3, true).values();
        assertThat(values).hasSize(14);
        for (Running.Value value : values) {
            double balanced = balanced(value.loss());
            assertThat(value.pooled()).as("%s", value.loss()).isCloseTo(balanced, within(1e-12 * balanced));
            assertThat(value.perLayer())
                    .allSatisfy(each -> assertThat(each).isCloseTo(balanced, within(1e-12 * balanced)));
            assertThat(value.contribution()).isEqualTo(0.5 * value.value());
        }
    }

    /** Layer l sends all tokens to experts 8·l to 8·l + 7: together the layers are even, each of them is as uneven as can be. */
    @Test
    void pooledLayersHideWhatEachLayerDoes() {
        double p = Math.E / (TOP_K * Math.E + EXPERTS - TOP_K); // of each chosen expert
        for (Running.Value value : layers(EXPERTS / TOP_K, false).values()) {
            double balanced = balanced(value.loss());
            assertThat(value.pooled()).as("%s", value.loss()).isCloseTo(balanced, within(1e-12 * balanced));
            double each =
                    switch (value.loss().name()) {
                        case "transformers", "flaxformer" -> EXPERTS * TOP_K * p;
                        case "z-loss" -> balanced;
                        case "lingvo" -> EXPERTS * p * LINGVO;
                        default -> EXPERTS * p;
                    };
            assertThat(value.meanPerLayer()).as("%s", value.loss()).isCloseTo(each, within(1e-12 * each));
            double all =
                    switch (value.loss().name()) {
                        case "transformers" -> TOP_K;
                        case "megablocks" -> each;
                        default -> each * EXPERTS / TOP_K;
                    };
            assertThat(value.value()).as("%s", value.loss()).isCloseTo(all, within(1e-11 * all));
        }
    }

    @Test
    void everyNormalisationWithANameIsThere() {
        assertThat(RouterLosses.balancing(0.25))
                .extracting(RouterLoss::name)
                .containsExactly(
                        "deepseek-batch",
                        "deepseek-sequence",
                        "deepseek-v3",
                        "flaxformer",
                        "lingvo",
                        "megablocks",
                        "megatron",
                        "megatron-sequence",
                        "mesh-tensorflow",
                        "olmo-core",
                        "olmo-core-instance",
                        "switch",
                        "transformers");
        assertThat(RouterLosses.balancing(0.25)).allMatch(loss -> loss.coefficient() == 0.25);
    }

    @Test
    void withoutTokensEverythingIsZero() {
        List<RouterLoss> losses = all(1);
        losses.add(VariationLoss.shazeerImportance(1));
        Running nothing = RouterLosses.running(losses, 2);
        assertThat(nothing.values()).allMatch(value -> value.value() == 0 && value.pooled() == 0);
        RoutedTokens empty = RouterConfig.topK(2, 1).routed(new double[0], RoutingContext.plain());
        RoutedTokens one = RouterConfig.topK(2, 1).routed(new double[] {0, 1}, RoutingContext.plain());
        nothing.add(1, empty).add(1, one);
        assertThat(nothing.values())
                .allMatch(value ->
                        value.perLayer().get(0) == 0 && value.perLayer().get(1) > 0);
        assertThat(RouterLosses.running(List.of(), 1).add(0, one).values()).isEmpty();
    }

    @Test
    void aCoefficientOfZeroLeavesTheValue() {
        RoutedTokens one = RouterConfig.topK(2, 1).routed(new double[] {0, 0}, RoutingContext.plain());
        for (RouterLoss loss :
                List.of(new ZLoss(0), LoadBalancingLoss.transformers(0), VariationLoss.shazeerImportance(0))) {
            Running.Value value =
                    RouterLosses.running(List.of(loss), 1).add(0, one).values().get(0);
            assertThat(value.value()).isPositive();
            assertThat(value.contribution()).isZero();
        }
    }

    @Test
    void whatCannotBeSummedIsRefused() {
        assertThatThrownBy(() -> RouterLosses.running(List.of(new HierarchicalLoss(1)), 2))
                .hasMessage("losses: expected losses of layers that are alike but was hierarchical");
        assertThatThrownBy(() ->
                        RouterLosses.running(List.of(new GlobalBalancingLoss(1, GlobalBalancingLoss.Seen.none(2))), 1))
                .hasMessageContaining("global");
        assertThatThrownBy(() -> RouterLosses.running(List.of(), 0)).hasMessageStartingWith("layers: ");
        RouterConfig config = RouterConfig.topK(2, 1);
        Running running = RouterLosses.running(List.of(LoadBalancingLoss.transformers(1)), 2);
        RoutedTokens sequences =
                config.routed(new double[] {0, 1, 1, 0}, RoutingContext.plain().withSequences(1, 1));
        running.add(0, sequences);
        assertThatThrownBy(() -> running.add(2, sequences)).hasMessageStartingWith("layer: expected 0..1 (layers)");
        assertThatThrownBy(() -> running.add(1, config.withTopK(2).routed(new double[2], RoutingContext.plain())))
                .hasMessage("block: expected 1 experts per token, as in the blocks before but was 2");
        assertThatThrownBy(() -> running.add(1, config.withExperts(3).routed(new double[3], RoutingContext.plain())))
                .hasMessage("block: expected 2 experts, as in the blocks before but was 3");
        for (RouterLoss loss : List.of(LoadBalancingLoss.deepSeekV3(1), VariationLoss.vMoeLoad(1))) {
            assertThatThrownBy(() -> RouterLosses.running(List.of(loss), 1).add(0, sequences))
                    .hasMessage(
                            "block: expected one sequence, with a loss that is a mean over them but was 2 sequences;"
                                    + " evaluate the loss on each, or take one over the batch");
        }
    }

    /** Sigmoids that are 0 have no sum to divide by. */
    @Test
    void aBlockThatIsRefusedAddsNothing() {
        RouterConfig config = RouterConfig.topK(2, 1).withScore(new ScoreFunction.Sigmoid());
        Running running = RouterLosses.running(all(1), 1);
        running.add(0, config.routed(new double[] {1, 2}, RoutingContext.plain()));
        List<Running.Value> before = running.values();
        RoutedTokens zeros = config.routed(new double[] {0, 0, -800, -800}, RoutingContext.plain());
        assertThatThrownBy(() -> running.add(0, zeros))
                .isInstanceOf(ArithmeticException.class)
                .hasMessageContaining("token 1");
        assertThat(running.values()).isEqualTo(before);
    }

    @Test
    void logitsOfATraceAreChecked() {
        RouterConfig config = RouterConfig.topK(2, 1);
        assertThatThrownBy(() ->
                        config.routed(new double[4], RoutingContext.plain().withSequences(1)))
                .hasMessageStartingWith("context.sequenceLengths: expected 2");
        assertThatThrownBy(() -> config.routed(new double[3], RoutingContext.plain()))
                .hasMessageStartingWith("logits: expected a multiple of 2");
        assertThatThrownBy(() -> config.withSelectionBias(true).routed(new double[2], RoutingContext.plain()))
                .hasMessageStartingWith("selectionBias: expected");
        double[] mine = {0, 1};
        RoutedTokens routed = config.routed(mine, RoutingContext.plain());
        mine[0] = 7;
        assertThat(routed.logits()).containsExactly(0, 1);
    }
}
