package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.KeptWeights;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.layer.TokenJitter;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;

/** What a rewrite gives; what it refuses is in {@link ConventionRefusalTest}. */
class ConventionRewriteTest {
    static final Backend BACKEND = ReferenceBackend.instance();
    static final int D = 5;
    static final ActiveWidths WIDTHS = new ActiveWidths(2, 6, 11);

    /** Four experts of width 6, two per token, and shared experts of widths 4 and 7. */
    static MoeLayer layer(ScaledMerge merge, double scale, Activation activation, boolean biases) {
        Experts experts = FeedForwardExperts.random(new ExpertShape(4, D, 6, activation, biases), BACKEND, 2);
        return MoeLayer.of(router(2, scale), experts)
                .withShared(new SharedBranch(
                        List.of(shared(4, activation, biases, 3), shared(7, activation, biases, 4)), merge));
    }

    static MoeLayer layer(ScaledMerge merge) {
        return layer(merge, 1, new Activation.SwiGlu(), true);
    }

    static SoftmaxRouter router(int topK, double scale) {
        return SoftmaxRouter.of(Initializer.normal(1).draw(BACKEND, 4, D, 1), topK, scale);
    }

    static Experts shared(int width, Activation activation, boolean biases, long seed) {
        return FeedForwardExperts.random(new ExpertShape(1, D, width, activation, biases), BACKEND, seed);
    }

    /** Output, gradients of tokens and of parameters of a run with a drawn gradient of the output. */
    static Map<String, double[]> run(MoeLayer layer, int tokens) {
        Map<String, double[]> arrays = new LinkedHashMap<>();
        try (Matrix x = Initializer.normal(1).draw(layer.experts().backend(), tokens, D, 5);
                Matrix dY = Initializer.normal(1).draw(layer.experts().backend(), tokens, D, 6);
                MoePass pass = layer.forward(x);
                Gradients gradients = pass.backward(dY)) {
            arrays.put("output", pass.output().toArray());
            arrays.put("tokens", gradients.input().toArray());
            arrays.putAll(arrays(gradients.parameters()));
        }
        return arrays;
    }

    static Map<String, double[]> arrays(Parameters parameters) {
        Map<String, double[]> arrays = new LinkedHashMap<>();
        parameters.names().forEach(name -> arrays.put(name, parameters.get(name).toArray()));
        return arrays;
    }

    private static double[] times(double[] values, double factor) {
        double[] product = values.clone();
        for (int i = 0; i < product.length; i++) {
            product[i] *= factor;
        }
        return product;
    }

    private static double factor(String name, double routed, double shared) {
        boolean down = name.endsWith("down") || name.endsWith("downBias");
        return !down ? 1 : name.startsWith("experts.") ? routed : name.startsWith("shared.") ? shared : 1;
    }

    /** Compares a rewritten layer with the one it came from. */
    static void same(
            MoeLayer layer, MoeLayer rewritten, double routed, double shared, BiConsumer<double[], double[]> equality) {
        Map<String, double[]> before = run(layer, 9);
        Map<String, double[]> after = run(rewritten, 9);
        assertThat(after.keySet()).isEqualTo(before.keySet());
        before.forEach((name, values) ->
                equality.accept(after.get(name), times(values, 1 / factor(name, routed, shared))));
        try (Parameters weights = layer.parameters();
                Parameters others = rewritten.parameters()) {
            arrays(weights)
                    .forEach((name, values) ->
                            equality.accept(others.get(name).toArray(), times(values, factor(name, routed, shared))));
        }
    }

    static void bits(double[] actual, double[] expected) {
        assertThat(actual).containsExactly(expected);
    }

    /** To 1e-13 of the largest element. */
    static void close(double[] actual, double[] expected) {
        Tolerance.assertWithinMaxNorm("numbers", actual, expected, 1e-13);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void powersOfTwoChangeNoBit(boolean gated) {
        Activation activation = gated ? new Activation.ClampedSwiGlu(1.7, 0.5, 1) : new Activation.GeluTanh();
        try (MoeLayer layer = layer(ScaledMerge.olmo(WIDTHS), 1, activation, true)) {
            ConventionRewrite rewrite = ConventionRewrite.of(layer, ScaledMerge.equalBranchMass(WIDTHS));
            try (MoeLayer rewritten = rewrite.layer();
                    MoeLayer back = ConventionRewrite.of(rewritten, ScaledMerge.olmo(WIDTHS))
                            .layer()) {
                assertThat(rewrite.routedDown()).isEqualTo(new Rescaling(4));
                assertThat(rewrite.sharedDown()).isEqualTo(new Rescaling(2));
                same(layer, rewritten, 4, 2, ConventionRewriteTest::bits);
                same(layer, back, 1, 1, ConventionRewriteTest::bits);
            }
        }
    }

    @Test
    void otherFactorsRound() {
        try (MoeLayer layer = layer(ScaledMerge.olmo(WIDTHS))) {
            ConventionRewrite rewrite = ConventionRewrite.of(layer, ScaledMerge.widthProportional(WIDTHS));
            try (MoeLayer rewritten = rewrite.layer()) {
                double routed = 23.0 / 6; // K = 2 by 2·6/23
                double shared = 23.0 / 11;
                assertThat(rewrite.routedDown().factor()).isCloseTo(routed, within(1e-15));
                assertThat(rewrite.sharedDown().factor()).isCloseTo(shared, within(1e-15));
                same(layer, rewritten, routed, shared, ConventionRewriteTest::close);
            }
        }
    }

    @Test
    void aLayerWithoutSharedExpertsHasTheRoutedFactorAlone() {
        Experts experts = FeedForwardExperts.random(new ExpertShape(4, D, 6), BACKEND, 2);
        try (MoeLayer layer = MoeLayer.of(router(2, 1), experts)) {
            ConventionRewrite rewrite = ConventionRewrite.of(layer, ScaledMerge.olmo(new ActiveWidths(2, 6, 0)));
            try (MoeLayer rewritten = rewrite.layer();
                    MoeLayer back = ConventionRewrite.of(rewritten, ScaledMerge.scaled(1, 0))
                            .layer()) {
                assertThat(rewrite.sharedDown()).isEqualTo(Rescaling.none());
                same(layer, rewritten, 0.5, 1, ConventionRewriteTest::bits);
                same(layer, back, 1, 1, ConventionRewriteTest::bits);
            }
        }
    }

    @Test
    void aFactorOfZeroOnBothSidesLeavesItsBranch() {
        try (MoeLayer layer = layer(ScaledMerge.scaled(0, -3))) {
            ConventionRewrite rewrite = ConventionRewrite.of(layer, ScaledMerge.scaled(0, 1.5));
            try (MoeLayer rewritten = rewrite.layer()) {
                assertThat(rewrite.routedDown()).isEqualTo(Rescaling.none());
                same(layer, rewritten, 1, -2, ConventionRewriteTest::bits);
            }
        }
    }

    @Test
    void theRoutersScaleMovesIntoTheWeights() {
        SoftmaxRouter plain = router(2, 1);
        try (MoeLayer layer = layer(ScaledMerge.sum(), 2.5, new Activation.SwiGlu(), true)) {
            ConventionRewrite rewrite = ConventionRewrite.of(layer, plain, ScaledMerge.olmo(WIDTHS));
            try (MoeLayer rewritten = rewrite.layer()) {
                assertThat(rewrite.routedDown()).isEqualTo(new Rescaling(1.25));
                assertThat(rewritten.router().scale()).isEqualTo(1);
                plain.close(); // the layer has a router of its own
                same(layer, rewritten, 1.25, 1, ConventionRewriteTest::close);
            }
            try (SoftmaxRouter twice = router(2, 5);
                    MoeLayer rewritten = ConventionRewrite.of(layer, twice, ScaledMerge.sum())
                            .layer()) {
                same(layer, rewritten, 0.5, 1, ConventionRewriteTest::bits);
            }
        }
    }

    @Test
    void latentProjectionsStayAsTheyAre() {
        Experts experts =
                FeedForwardExperts.random(new ExpertShape(4, 3, 6, new Activation.SwiGlu(), true), BACKEND, 2);
        try (MoeLayer layer = MoeLayer.of(router(2, 1), experts, LatentProjections.random(D, 3, BACKEND, 7))
                        .withShared(SharedBranch.of(shared(4, new Activation.Relu(), false, 3), ScaledMerge.sum()));
                MoeLayer rewritten =
                        ConventionRewrite.of(layer, ScaledMerge.scaled(0.25, 8)).layer()) {
            same(layer, rewritten, 4, 0.125, ConventionRewriteTest::bits);
        }
    }

    @Test
    void whatElseALayerHasGoesOver() {
        Capacity dropping = Capacity.factor(0.5).withKeptWeights(KeptWeights.UNIT_SUM);
        try (MoeLayer given = layer(ScaledMerge.olmo(WIDTHS))) {
            MoeLayer layer = given.withCapacity(dropping).withTokenJitter(new TokenJitter(0.1));
            try (MoeLayer rewritten = ConventionRewrite.of(layer, ScaledMerge.routedUnitSum(WIDTHS))
                    .layer()) {
                assertThat(rewritten.capacity()).isEqualTo(dropping);
                assertThat(rewritten.tokenJitter()).contains(new TokenJitter(0.1));
                same(layer, rewritten, 2, 1, ConventionRewriteTest::bits);
            }
        }
    }

    @Test
    void weightsOnTheInputAllowAnotherRoutedFactor() {
        Experts experts = FeedForwardExperts.random(new ExpertShape(4, D, 6), BACKEND, 2);
        try (MoeLayer layer = MoeLayer.of(router(1, 0.5), experts).withWeightPlace(WeightPlace.INPUT);
                MoeLayer rewritten =
                        ConventionRewrite.of(layer, ScaledMerge.scaled(4, 1)).layer()) {
            assertThat(rewritten.weightPlace()).isEqualTo(WeightPlace.INPUT);
            same(layer, rewritten, 0.25, 1, ConventionRewriteTest::bits);
        }
    }

    /** With PASSED it is the merge's factor that must stay, with PASSED_WEIGHTED its product with the router's scale. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void passedTokensStayWhereWhatMultipliesThemDoes(boolean weighted) {
        UnservedTokens unserved = weighted ? UnservedTokens.PASSED_WEIGHTED : UnservedTokens.PASSED;
        try (MoeLayer given = layer(ScaledMerge.scaled(2, 1));
                SoftmaxRouter other = router(2, 4)) {
            MoeLayer layer = given.withCapacity(Capacity.of(RowLimit.rows(1)).withUnserved(unserved));
            try (MoePass pass = layer.forward(Initializer.normal(1).draw(BACKEND, 9, D, 5))) {
                assertThat(pass.droppedAssignments()).isGreaterThan(8); // 18 assignments, 4 experts with one row each
            }
            ScaledMerge to = ScaledMerge.scaled(weighted ? 0.5 : 2, 0.5);
            try (MoeLayer rewritten = ConventionRewrite.of(layer, other, to).layer()) {
                same(layer, rewritten, weighted ? 1 : 0.25, 2, ConventionRewriteTest::bits);
            }
        }
    }

    @Test
    void closingOneLayerLeavesTheOtherOpen() {
        MoeLayer layer = layer(ScaledMerge.sum());
        Map<String, double[]> before = run(layer, 3);
        MoeLayer rewritten =
                ConventionRewrite.of(layer, ScaledMerge.scaled(2, 1)).layer();
        rewritten.close();
        assertThat(run(layer, 3).get("output")).containsExactly(before.get("output"));
        rewritten = ConventionRewrite.of(layer, ScaledMerge.scaled(2, 1)).layer();
        layer.close();
        assertThat(run(rewritten, 3).get("output")).containsExactly(before.get("output"));
        rewritten.close();
    }

    @Test
    void setsAreMappedByFamily() {
        SplittableRandom random = new SplittableRandom(1);
        try (MoeLayer layer = layer(ScaledMerge.sum())) {
            ConventionRewrite rewrite = ConventionRewrite.of(layer, ScaledMerge.scaled(-0.5, 4));
            Matrix m = BACKEND.matrix(1, 3, random.doubles(3).toArray());
            double[] v = m.toArray();
            Parameters set = Parameters.of("experts.1.down", m)
                    .and(Parameters.of("shared.1.downBias", m))
                    .and(Parameters.of("shared.0.gate", m))
                    .and(Parameters.of("router.weight", m));
            Map<String, double[]> weights = arrays(rewrite.weights(set));
            assertThat(weights.get("experts.1.down")).containsExactly(times(v, -2));
            assertThat(weights.get("shared.1.downBias")).containsExactly(times(v, 0.25));
            assertThat(weights.get("shared.0.gate")).containsExactly(v);
            assertThat(weights.get("router.weight")).containsExactly(v);
            Map<String, double[]> gradients = arrays(rewrite.gradients(set));
            assertThat(gradients.get("experts.1.down")).containsExactly(times(v, -0.5));
            assertThat(gradients.get("shared.1.downBias")).containsExactly(times(v, 4));
            Map<String, double[]> second = arrays(rewrite.secondMoments(set));
            assertThat(second.get("experts.1.down")).containsExactly(times(v, 0.25));
            assertThat(second.get("shared.1.downBias")).containsExactly(times(v, 16));
            assertThat(second.get("shared.0.gate")).containsExactly(v);
            assertThatThrownBy(() -> rewrite.gradients(Parameters.of("experts.1.dwn", m)))
                    .isInstanceOf(NoSuchElementException.class)
                    .hasMessage("name: expected one of the layer's parameters but was experts.1.dwn;"
                            + " did you mean experts.1.down?");
            assertThatThrownBy(() -> rewrite.rescaling("x"))
                    .isInstanceOf(NoSuchElementException.class)
                    .hasMessage("name: expected one of the layer's parameters but was x");
            rewrite.layer().close();
        }
    }
}
