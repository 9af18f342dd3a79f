package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.loss.Counts;
import org.moe4j.router.loss.GlobalBalancingLoss;
import org.moe4j.router.loss.GlobalBalancingLoss.Seen;
import org.moe4j.router.loss.Grouping;
import org.moe4j.router.loss.Grouping.Layers;
import org.moe4j.router.loss.Grouping.Scope;
import org.moe4j.router.loss.HierarchicalLoss;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.Scores;

/** Losses that need more than one pass: the global and the hierarchical one; changed copies; refusals. */
class BalanceLossesTest {
    private static final RouterConfig CONFIG = RouterConfig.topK(2, 1);

    @Test
    void globalLossTakesTheMeanOfTheCountsSoFar() {
        for (long seed = 0; seed < 200; seed++) {
            List<LossLayer> batches = new ArrayList<>(LossDraw.layers(seed));
            Seen seen = Seen.none(batches.get(0).experts());
            double[] total = new double[batches.get(0).experts()];
            for (int i = 0; i < batches.size(); i++) {
                LossLayer batch = batches.get(i);
                double[] counts = LossDefinitions.counts(batch, batch.rows(), LossDefinitions.megatronScores(batch));
                Arrays.setAll(total, e -> total[e] + counts[e]);
                double steps = i + 1;
                double[] mean = Arrays.stream(total).map(count -> count / steps).toArray();
                RouterLoss loss = new GlobalBalancingLoss(0.5, seen);
                double expected = global(batch, mean);
                assertThat(loss.value(List.of(batch.pass())))
                        .as("seed %d, micro-batch %d", seed, i)
                        .isCloseTo(expected, within(1e-12 * Math.max(1, expected)));
                if (seed < 60 && LossDraw.isAwayFromTies(batch)) {
                    double[] d = FiniteDifferences.gradient(at -> global(batch.withLogits(at), mean), batch.flat());
                    double norm = Math.max(1e-4, FiniteDifferences.norm(d));
                    assertThat(FiniteDifferences.worst(LossSubject.gradients(loss, List.of(batch)), d, norm))
                            .isLessThanOrEqualTo(1);
                }
                seen = seen.and(batch.pass());
                assertThat(seen.mean()).containsExactly(mean, within(1e-14));
            }
            assertThat(seen.batches()).isEqualTo(batches.size());
        }
    }

    private static double global(LossLayer batch, double[] mean) {
        int[] rows = batch.rows();
        return rows.length == 0 ? 0 : 0.5 * LossDefinitions.megatron(batch, rows, mean, rows.length);
    }

    /** A second micro-batch that fills the other expert: its own value is 1.8, with the counts of both 1. */
    @Test
    void globalLossForgivesAMicroBatch() {
        double sure = Math.log(9);
        LossLayer first = LossLayer.plain(CONFIG, new double[][] {{sure, 0}, {sure, 0}});
        LossLayer second = LossLayer.plain(CONFIG, new double[][] {{0, sure}, {0, sure}});
        Seen seen = Seen.none(2).and(first.pass());
        assertThat(new GlobalBalancingLoss(1, Seen.none(2)).value(List.of(second.pass())))
                .isCloseTo(1.8, within(1e-14));
        assertThat(new GlobalBalancingLoss(1, seen).value(List.of(second.pass())))
                .isCloseTo(1, within(1e-14));
        assertThat(Seen.none(2).mean()).containsExactly(0, 0);
        assertThat(new GlobalBalancingLoss(1, seen).name()).isEqualTo("global");
    }

    @Test
    void hierarchicalLossAddsTheInnerMean() {
        LossLayer outer = LossLayer.plain(CONFIG, new double[][] {{2, 0}, {1, 0}, {0, 3}, {1, 2}});
        LossLayer first = LossLayer.plain(CONFIG, new double[][] {{1, 0}, {0, 2}, {1, -1}})
                .withValid(true, true, false);
        LossLayer second = LossLayer.plain(CONFIG, new double[][] {{1, 0}, {3, 2}});
        List<LossLayer> all = List.of(outer, first, second);
        HierarchicalLoss loss = new HierarchicalLoss(0.5);
        assertThat(loss.value(LossSubject.passes(all))).isCloseTo(hierarchical(all), within(1e-14));
        double[] flat =
                all.stream().flatMapToDouble(l -> Arrays.stream(l.flat())).toArray();
        double[] d = FiniteDifferences.gradient(at -> hierarchical(LossSubject.at(all, at)), flat);
        assertThat(FiniteDifferences.worst(LossSubject.gradients(loss, all), d, FiniteDifferences.norm(d)))
                .isLessThanOrEqualTo(1);
        LossLayer even = LossLayer.plain(CONFIG, new double[][] {{1, 0}, {0, 1}});
        assertThat(new HierarchicalLoss(1).value(LossSubject.passes(List.of(even, even, even))))
                .isCloseTo(2, within(1e-14));
        assertThat(new HierarchicalLoss(1).value(LossSubject.passes(List.of(even, even.withValid(false, false)))))
                .as("an inner layer that no first choice reaches")
                .isCloseTo(1, within(1e-14));
        assertThat(loss.name()).isEqualTo("hierarchical");
    }

    private static double hierarchical(List<LossLayer> all) {
        double inner = LossDefinitions.meshTensorFlow(all.get(1)) + LossDefinitions.meshTensorFlow(all.get(2));
        return 0.5 * (LossDefinitions.meshTensorFlow(all.get(0)) + inner / 2);
    }

    /** Any combination can be had: the routing's counts in Megatron's form is OLMo-core's. */
    @Test
    void copiesCanBeChanged() {
        LossLayer layer = LossLayer.plain(RouterConfig.topK(4, 2), new double[][] {{2, 1, 0, -1}, {1, 0, 2, 3}})
                .withBias(-1, 0, 1, 0);
        LoadBalancingLoss changed = LoadBalancingLoss.megatron(1)
                .withCounts(Counts.CHOSEN)
                .withScores(Scores.NORMALIZED)
                .named("mine");
        assertThat(changed.name()).isEqualTo("mine");
        assertThat(changed.value(List.of(layer.pass())))
                .isEqualTo(LoadBalancingLoss.olmoCore(1).value(List.of(layer.pass())));
    }

    @Test
    void whatDoesNotGoTogetherIsRefused() {
        LossLayer two = LossLayer.plain(CONFIG, new double[] {1, 0});
        LossLayer three = LossLayer.plain(RouterConfig.topK(3, 1), new double[] {1, 0, 2});
        assertThatThrownBy(() -> new Grouping(Scope.SEQUENCES).withLayers(Layers.POOLED))
                .hasMessage("scope: expected BATCH with POOLED layers but was SEQUENCES");
        assertThatThrownBy(() -> LoadBalancingLoss.megatron(-1))
                .hasMessage("coefficient: expected a finite number of at least 0 but was -1.0");
        assertThatThrownBy(() -> LoadBalancingLoss.megatron(1).withDivisor(0))
                .hasMessage("divisor: expected a finite number above 0 but was 0.0");
        assertThatThrownBy(() -> LoadBalancingLoss.transformers(1).value(List.of(two.pass(), three.pass())))
                .hasMessage("layers: expected 2 experts, as in the first of pooled layers but was 3");
        assertThatThrownBy(() -> LoadBalancingLoss.megatron(1).addGradients(List.of(two.pass()), List.of()))
                .hasMessage("into: expected 1 (one per layer) but was 0");
        assertThatThrownBy(() -> new GlobalBalancingLoss(1, Seen.none(2)).value(List.of()))
                .hasMessage("layers: expected 1 (one layer, whose counts were kept) but was 0");
        assertThatThrownBy(() -> Seen.none(2).and(three.pass()))
                .hasMessage("layer: expected 2 experts, as counted before but was 3");
        assertThatThrownBy(() -> new HierarchicalLoss(1).value(List.of(two.pass())))
                .hasMessage("layers: expected an outer layer and at least one inner layer but was 1 in all");
        assertThatThrownBy(() -> two.pass().logitGradientsOfWeights(new double[2]))
                .hasMessage("dWeights: expected 1 numbers (T x K) but was 2");
    }
}
