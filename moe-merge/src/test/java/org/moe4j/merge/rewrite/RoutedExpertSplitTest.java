package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.BACKEND;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.D;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.WIDTHS;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.close;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.layer;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.router;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.run;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.shared;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.layer.TokenJitter;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;

/** With the softmax of the selected, where a part has 1/m of the weight; all other routers in moe-bench. */
class RoutedExpertSplitTest {
    /** Each row m times, in place. */
    private static SoftmaxRouter inherited(Router router, int parts) {
        SoftmaxRouter softmax = (SoftmaxRouter) router;
        int width = softmax.weight().columns();
        double[] rows = softmax.weight().toArray();
        double[] repeated = new double[rows.length * parts];
        for (int i = 0; i < repeated.length; i++) {
            repeated[i] = rows[i / width / parts * width + i % width];
        }
        return SoftmaxRouter.of(
                BACKEND.matrix(softmax.experts() * parts, width, repeated), softmax.topK() * parts, softmax.scale());
    }

    private static RoutedExpertSplit split(MoeLayer layer, int parts) {
        try (SoftmaxRouter inherited = inherited(layer.router(), parts)) {
            return RoutedExpertSplit.of(layer, parts, inherited, 1.0 / parts);
        }
    }

    /** Rows {@code from} to {@code from + count} of an F-long side: rows of gate and up, columns of down. */
    private static double[] slice(String name, double[] values, int width, int from, int count) {
        int rows = name.endsWith("gate") || name.endsWith("up") ? width : values.length / width;
        int columns = values.length / rows;
        boolean below = rows == width;
        double[] slice = new double[values.length / width * count];
        for (int i = 0; i < slice.length; i++) {
            int row = below ? from + i / columns : i / count;
            int column = below ? i % columns : from + i % count;
            slice[i] = values[row * columns + column];
        }
        return slice;
    }

    private static double[] times(double[] values, double factor) {
        double[] product = values.clone();
        for (int i = 0; i < product.length; i++) {
            product[i] *= factor;
        }
        return product;
    }

    /** Output and gradients of a split layer; the down factors are given by hand. */
    private static void same(MoeLayer layer, MoeLayer split, int parts, double routed, double shared) {
        Map<String, double[]> before = run(layer, 9);
        Map<String, double[]> after = run(split, 9);
        int width = layer.experts().shape().intermediateSize();
        int part = width / parts;
        before.forEach((name, values) -> {
            boolean down = name.contains(".down") && !name.startsWith("latent");
            if (name.startsWith("experts.")) {
                int expert = Integer.parseInt(name.substring(8, name.indexOf('.', 8)));
                for (int i = 0; i < parts; i++) {
                    String ofPart = "experts." + (expert * parts + i) + name.substring(name.indexOf('.', 8));
                    double[] expected = name.endsWith("downBias") ? values : slice(name, values, width, i * part, part);
                    close(after.get(ofPart), times(expected, down ? 1 / routed : 1));
                }
            } else if (name.equals("router.weight")) {
                double[] sum = new double[values.length];
                double[] rows = after.get(name);
                for (int i = 0; i < rows.length; i++) {
                    sum[i / D / parts * D + i % D] += rows[i];
                }
                close(sum, values);
            } else {
                close(after.get(name), times(values, down ? 1 / shared : 1));
            }
        });
    }

    static Stream<Arguments> conventions() {
        return Stream.of(
                Arguments.of(ScaledMerge.olmo(WIDTHS), 1.0, 1.0),
                Arguments.of(ScaledMerge.routedUnitSum(WIDTHS), 3.0, 1.0),
                Arguments.of(ScaledMerge.equalBranchMass(WIDTHS), 3.0, 1.0),
                Arguments.of(ScaledMerge.widthProportional(WIDTHS), 3.0, 1.0),
                Arguments.of(ScaledMerge.sum(), 3.0, 1.0),
                Arguments.of(ScaledMerge.scaled(-2, 0), 3.0, 1.0));
    }

    @ParameterizedTest
    @MethodSource("conventions")
    void thePartsComputeWhatTheExpertsDid(ScaledMerge merge, double routed, double shared) {
        for (Activation activation : List.of(
                new Activation.SwiGlu(), new Activation.ClampedSwiGlu(1.7, 0.5, 1), new Activation.GeluTanh())) {
            try (MoeLayer layer = layer(merge, 1, activation, true)) {
                RoutedExpertSplit split = split(layer, 3);
                try (MoeLayer result = split.layer()) {
                    assertThat(split.routedDown().factor()).isCloseTo(routed, within(1e-15));
                    assertThat(split.sharedDown().factor()).isEqualTo(shared);
                    assertThat(result.experts().shape()).isEqualTo(new ExpertShape(12, D, 2, activation, true));
                    assertThat(result.router().topK()).isEqualTo(6);
                    ScaledMerge to = (ScaledMerge) result.shared().orElseThrow().merge();
                    assertThat(to.name()).isEqualTo(merge.name());
                    same(layer, result, 3, routed, shared);
                }
            }
        }
    }

    /** Olmo's K becomes K·m, so that no number changes; the weights are cut, bit by bit. */
    @Test
    void underOlmoTheWeightsAreOnlyCut() {
        try (MoeLayer layer = layer(ScaledMerge.olmo(WIDTHS));
                MoeLayer result = split(layer, 2).layer();
                Parameters whole = layer.parameters();
                Parameters cut = result.parameters()) {
            assertThat(((ScaledMerge) result.shared().orElseThrow().merge()).routedScale())
                    .isEqualTo(4);
            for (String name : List.of("gate", "up", "down", "gateBias", "upBias")) {
                for (int i = 0; i < 2; i++) {
                    assertThat(cut.get("experts." + (6 + i) + "." + name).toArray())
                            .containsExactly(
                                    slice(name, whole.get("experts.3." + name).toArray(), 6, 3 * i, 3));
                }
            }
            assertThat(cut.get("experts.6.downBias").toArray())
                    .containsExactly(whole.get("experts.3.downBias").toArray());
            assertThat(cut.get("experts.7.downBias").toArray()).containsOnly(0);
        }
    }

    /** K stands in both factors: (K·R + S)/(K + 1). */
    @Test
    void underTheActiveMeanTheSharedExpertChangesToo() {
        Experts experts = SwiGluExperts.random(new ExpertShape(4, D, 6), BACKEND, 2);
        try (MoeLayer layer = MoeLayer.of(router(2, 1), experts)
                .withShared(SharedBranch.of(shared(4, new Activation.Relu(), true, 3), ScaledMerge.activeMean(2)))) {
            RoutedExpertSplit split = split(layer, 3);
            try (MoeLayer result = split.layer()) {
                assertThat(split.routedDown().factor()).isCloseTo(2.0 / 3 * 7 / 6 * 3, within(1e-15));
                assertThat(split.sharedDown().factor()).isCloseTo(7.0 / 3, within(1e-15));
                same(layer, result, 3, 7.0 / 3, 7.0 / 3);
            }
        }
    }

    @Test
    void aLearnedGateStaysAsItIs() {
        try (MoeLayer sum = layer(ScaledMerge.sum())) {
            GatedMerge gated = GatedMerge.random(2, D, SharedScore.SOFTMAX, BACKEND, 1);
            MoeLayer layer =
                    sum.withShared(new SharedBranch(sum.shared().orElseThrow().experts(), gated));
            try (MoeLayer result = split(layer, 6).layer()) {
                same(layer, result, 6, 6, 1);
            }
            gated.close();
        }
    }

    @Test
    void latentExpertsWithoutASharedBranch() {
        Experts experts = SwiGluExperts.random(new ExpertShape(4, 3, 6), BACKEND, 2);
        try (MoeLayer layer = MoeLayer.of(router(2, 2.5), experts, LatentProjections.random(D, 3, BACKEND, 7))
                        .withTokenJitter(new TokenJitter(0.1));
                MoeLayer result = split(layer, 2).layer()) {
            assertThat(result.tokenJitter()).contains(new TokenJitter(0.1));
            assertThat(result.shared()).isEmpty();
            same(layer, result, 2, 2, 1);
        }
    }

    @Test
    void onePartIsACopy() {
        MoeLayer layer = layer(ScaledMerge.sum());
        MoeLayer result = split(layer, 1).layer();
        same(layer, result, 1, 1, 1);
        Map<String, double[]> before = run(layer, 3);
        layer.close();
        assertThat(run(result, 3).get("output")).containsExactly(before.get("output"));
        result.close();
    }

    private static void refused(MoeLayer layer, int parts, Router inherited, double weight, String message) {
        assertThatThrownBy(() -> RoutedExpertSplit.of(layer, parts, inherited, weight))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void layersWhosePartsAreNotTogetherAreRefused() {
        try (MoeLayer layer = layer(ScaledMerge.sum())) {
            Router two = inherited(layer.router(), 2);
            refused(layer, 4, two, 1, "parts: expected a divisor of 6 (intermediate size) but was 4");
            refused(
                    layer.withCapacity(Capacity.factor(2)),
                    2,
                    two,
                    0.5,
                    "layer.capacity: expected none (its rows are those of an expert, and a token could keep some parts of"
                            + " one) but was " + Capacity.factor(2));
            refused(
                    MoeLayer.of(layer.router(), new ConventionRefusalTest.Own(layer.experts())),
                    2,
                    two,
                    0.5,
                    "experts: expected FeedForwardExperts or SwiGluExperts, whose outputs are sums over their intermediate"
                            + " units but was Own");
            refused(
                    layer.withShared(new SharedBranch(List.of(), new OwnMerge())),
                    2,
                    two,
                    0.5,
                    "layer: expected a merge that is known to depend on K and widths, or not to (MergeConvention) but was"
                            + " OwnMerge");
        }
        Experts experts = FeedForwardExperts.random(new ExpertShape(4, D, 6), BACKEND, 2);
        try (MoeLayer layer = MoeLayer.of(router(1, 1), experts).withWeightPlace(WeightPlace.INPUT)) {
            for (int parts = 1; parts <= 2; parts++) { // one part: the result would have the weight on the output
                refused(
                        layer,
                        parts,
                        inherited(layer.router(), parts),
                        1.0 / parts,
                        "layer.weightPlace: expected OUTPUT, where the parts of an expert share its weight but was INPUT;"
                                + " a weight on the input stands inside the activation");
            }
        }
    }

    @Test
    void routersThatAreNotOfThePartsAreRefused() {
        try (MoeLayer layer = layer(ScaledMerge.sum())) {
            SoftmaxRouter two = inherited(layer.router(), 2);
            Matrix rows = two.weight();
            String hint =
                    "; make it with InheritedRows; on some backends equal rows need router.precision = double to tie";
            refused(layer, 2, two, 0, "weightOfPart: expected a finite number above 0 but was 0.0");
            refused(
                    layer,
                    2,
                    SoftmaxRouter.of(BACKEND.matrix(8, D + 1, new double[8 * (D + 1)]), 4, 1),
                    0.5,
                    "inherited.tokenWidth: expected " + D + " (hidden size of the layer) but was " + (D + 1));
            refused(layer, 3, two, 0.5, "inherited: expected 12 experts (those of the layer times parts) but was 8");
            refused(
                    layer,
                    2,
                    SoftmaxRouter.of(rows, 2, 1),
                    0.5,
                    "inherited: expected 4 as topK (that of the layer times parts) but was 2");
            refused(
                    layer,
                    2,
                    two,
                    1,
                    "inherited: expected all parts of a token's experts, with 1.0 times their weights but was another"
                            + " routing for drawn token 0" + hint);
            refused(
                    layer,
                    2,
                    new SoftmaxRouter(rows, 4, 1, true, true, 1),
                    0.5,
                    "inherited: expected all parts of a token's experts, with 0.5 times their weights but was another"
                            + " routing for drawn token 0" + hint);
        }
    }

    /** A merge that says nothing of itself. */
    private record OwnMerge() implements OutputMerge {
        @Override
        public MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared) {
            throw new UnsupportedOperationException("merge");
        }

        @Override
        public void requireFits(Router router, Experts routed, List<Experts> shared) {}

        @Override
        public Parameters parameters() {
            return Parameters.none();
        }

        @Override
        public OutputMerge withParameters(Parameters parameters) {
            return this;
        }
    }
}
