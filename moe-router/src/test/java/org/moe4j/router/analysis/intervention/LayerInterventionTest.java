package org.moe4j.router.analysis.intervention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.router.analysis.intervention.PlainLayer.BACKEND;
import static org.moe4j.router.analysis.intervention.PlainLayer.HIDDEN;
import static org.moe4j.router.analysis.intervention.PlainLayer.rows;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.intervention.LayerIntervention.MaskAfterChoice;
import org.moe4j.router.analysis.intervention.LayerIntervention.MaskBeforeChoice;
import org.moe4j.router.analysis.intervention.LayerIntervention.OtherShared;
import org.moe4j.router.analysis.intervention.LayerIntervention.OtherTopK;
import org.moe4j.router.analysis.intervention.LayerIntervention.WithoutShared;

class LayerInterventionTest {
    private static final RouterConfig CONFIG = RouterConfig.topK(8, 3);

    private static void assertRows(Matrix actual, double[][] expected) {
        for (int t = 0; t < expected.length; t++) {
            assertThat(rows(actual)[t]).containsExactly(expected[t], within(1e-12));
        }
    }

    @Test
    void maskedBeforeTheChoiceTheNextBestRun() {
        PlainLayer plain = new PlainLayer(CONFIG, 1);
        ExpertMask mask = ExpertMask.without(8, 1, 4, 6);
        try (Matrix tokens = PlainLayer.tokens(20, 9);
                Matrix output = new MaskBeforeChoice(mask).apply(plain.layer(), tokens)) {
            double[][] expected = new double[20][];
            for (int t = 0; t < 20; t++) {
                double[] x = rows(tokens)[t];
                double[] p = PlainLayer.softmax(plain.logits(x), e -> !mask.isMasked(e));
                expected[t] = plain.output(x, PlainLayer.best(p, 3, e -> !mask.isMasked(e)), p);
            }
            assertRows(output, expected);
        }
    }

    @ParameterizedTest
    @EnumSource(RemovedWeight.class)
    void maskedAfterTheChoiceTheOthersRunAlone(RemovedWeight rule) {
        PlainLayer plain = new PlainLayer(CONFIG, 2);
        ExpertMask mask = ExpertMask.without(8, 1, 4, 6);
        try (Matrix tokens = PlainLayer.tokens(20, 8);
                Matrix output = new MaskAfterChoice(mask, rule).apply(plain.layer(), tokens)) {
            double[][] expected = new double[20][];
            for (int t = 0; t < 20; t++) {
                double[] x = rows(tokens)[t];
                double[] p = PlainLayer.softmax(plain.logits(x), e -> true);
                List<Integer> chosen = PlainLayer.best(p, 3, e -> true);
                List<Integer> left =
                        chosen.stream().filter(e -> !mask.isMasked(e)).toList();
                double sum = chosen.stream().mapToDouble(e -> p[e]).sum();
                double rest = left.stream().mapToDouble(e -> p[e]).sum();
                for (int e : left) {
                    p[e] *= rule == RemovedWeight.LOST ? 1 : sum / rest;
                }
                expected[t] = plain.output(x, left, p);
            }
            assertRows(output, expected);
        }
    }

    @ParameterizedTest
    @CsvSource({"1", "3", "5", "8"})
    void anotherKRunsAsMany(int topK) {
        PlainLayer plain = new PlainLayer(CONFIG, 3);
        try (Matrix tokens = PlainLayer.tokens(10, 7);
                Matrix output = new OtherTopK(topK).apply(plain.layer(), tokens)) {
            double[][] expected = new double[10][];
            for (int t = 0; t < 10; t++) {
                double[] x = rows(tokens)[t];
                double[] p = PlainLayer.softmax(plain.logits(x), e -> true);
                expected[t] = plain.output(x, PlainLayer.best(p, topK, e -> true), p);
            }
            assertRows(output, expected);
            OutputChange change = new OtherTopK(topK).change(plain.layer(), tokens);
            assertThat(change.differenceRms() < 1e-15).isEqualTo(topK == 3);
        }
        plain.layer().apply(PlainLayer.tokens(1, 1)).close(); // the layer is as open as before
    }

    @Test
    void sharedExpertsFallSilentOrAreOthers() {
        PlainLayer plain = new PlainLayer(CONFIG, 4);
        SwiGluExperts own = SwiGluExperts.random(new ExpertShape(1, HIDDEN, 5), BACKEND, 40);
        SwiGluExperts other = SwiGluExperts.random(new ExpertShape(1, HIDDEN, 7), BACKEND, 41);
        MoeLayer layer = plain.layer().withShared(SharedBranch.of(own, new DoubledMerge()));
        LayerIntervention replaced = new OtherShared(SharedBranch.of(other, new DoubledMerge()));
        try (Matrix tokens = PlainLayer.tokens(10, 6);
                Matrix routed = plain.layer().apply(tokens);
                Matrix silent = new WithoutShared().apply(layer, tokens);
                Matrix changed = replaced.apply(layer, tokens)) {
            double[][] r = rows(routed);
            double[][] s = PlainLayer.shared(other, rows(tokens));
            assertRows(silent, sums(r, s, 0));
            assertRows(changed, sums(r, s, 3));
        }
    }

    private static double[][] sums(double[][] routed, double[][] shared, double factor) {
        double[][] sums = new double[routed.length][];
        for (int t = 0; t < sums.length; t++) {
            int token = t;
            sums[t] = IntStream.range(0, HIDDEN)
                    .mapToDouble(d -> 2 * routed[token][d] + factor * shared[token][d])
                    .toArray();
        }
        return sums;
    }

    @Test
    void theChangeIsBetweenBothOutputs() {
        PlainLayer plain = new PlainLayer(CONFIG, 5);
        LayerIntervention without = new MaskAfterChoice(ExpertMask.keeping(8), RemovedWeight.LOST);
        LayerIntervention nothing = new MaskBeforeChoice(ExpertMask.without(8));
        try (Matrix tokens = PlainLayer.tokens(30, 5)) {
            OutputChange all = without.change(plain.layer(), tokens);
            assertThat(all.relative()).isCloseTo(1, within(1e-12)); // nobody is left
            assertThat(all.cosine()).isZero();
            OutputChange none = nothing.change(plain.layer(), tokens);
            assertThat(none.differenceRms()).isLessThan(1e-15);
            assertThat(none.meanTokenCosine()).isCloseTo(1, within(1e-12));
        }
    }

    @Test
    void mergesMayRefuseWhatIsChanged() {
        PlainLayer plain = new PlainLayer(CONFIG, 6);
        SwiGluExperts own = SwiGluExperts.random(new ExpertShape(1, HIDDEN, 5), BACKEND, 40);
        MoeLayer layer = plain.layer().withShared(SharedBranch.of(own, new DoubledMerge()));
        Matrix tokens = PlainLayer.tokens(2, 6);
        LayerIntervention varying = new MaskAfterChoice(ExpertMask.without(8, 0), RemovedWeight.LOST);
        assertThatThrownBy(() -> varying.apply(layer, tokens)).hasMessageContaining("(of this merge)");
        SharedBranch silent = new SharedBranch(List.of(), new SilentShared(SharedBranch.of(own, new DoubledMerge())));
        MoeLayer one = new PlainLayer(RouterConfig.topK(8, 1), 7).layer().withWeightPlace(WeightPlace.INPUT);
        assertThatThrownBy(() -> one.withShared(silent)).hasMessageContaining("experts.weightPlace");
        assertThat(silent.merge().withParameters(silent.merge().parameters())).isEqualTo(silent.merge());
    }

    @Test
    void layersThatHaveNotWhatIsChangedAreRefused() {
        MoeLayer layer = new PlainLayer(CONFIG, 8).layer();
        Matrix tokens = PlainLayer.tokens(2, 6);
        assertThatThrownBy(() -> new WithoutShared().apply(layer, tokens))
                .hasMessage("layer: expected one with a shared expert but was one without");
        MoeLayer masked = layer.withRouter(ExpertMask.without(8).afterChoice(layer.router(), RemovedWeight.LOST));
        assertThatThrownBy(() -> new OtherTopK(2).apply(masked, tokens))
                .hasMessageContaining("layer.router: expected a TopKRouter");
        assertThatThrownBy(() -> new OtherTopK(9).apply(layer, tokens)).hasMessageContaining("topK: expected 1..8");
    }
}
