package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.merge.rewrite.SharedLayers.BACKEND;
import static org.moe4j.merge.rewrite.SharedLayers.HIDDEN;
import static org.moe4j.merge.rewrite.SharedLayers.SWIGLU;
import static org.moe4j.merge.rewrite.SharedLayers.distance;
import static org.moe4j.merge.rewrite.SharedLayers.equalGates;
import static org.moe4j.merge.rewrite.SharedLayers.experts;
import static org.moe4j.merge.rewrite.SharedLayers.gate;
import static org.moe4j.merge.rewrite.SharedLayers.layer;
import static org.moe4j.merge.rewrite.SharedLayers.plain;
import static org.moe4j.merge.rewrite.SharedLayers.random;
import static org.moe4j.merge.rewrite.SharedLayers.swiGlu;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.testing.PlainActivations;
import org.moe4j.core.testing.TokenwiseFeedForward;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;

class SharedBranchCollapseTest {
    /** Sums of at most 24 products, of numbers of unit size, in another order. */
    private static final double ROUNDING = 1e-13;

    private static OutputMerge collapsibleMerge(SplittableRandom random, int experts, int sharedWidth) {
        return switch (random.nextInt(5)) {
            case 0 -> ScaledMerge.widthProportional(new ActiveWidths(2, 5, sharedWidth));
            case 1 -> ScaledMerge.scaled(0.5, -1.3);
            case 2 -> equalGates(SharedScore.SIGMOID, experts, random.nextLong());
            case 3 -> gate(SharedScore.SIGMOID, new double[experts][HIDDEN]);
            default ->
                equalGates(
                        random.nextBoolean() ? SharedScore.SOFTMAX : SharedScore.NORMALIZED_SIGMOID,
                        experts,
                        random.nextLong());
        };
    }

    private static MoeLayer drawn(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] widths = random.ints(2 + random.nextInt(4), 1, 7).toArray();
        Activation activation = PlainActivations.ALL.get(random.nextInt(PlainActivations.ALL.size()));
        List<Experts> shared = experts(activation, random.nextBoolean(), seed, widths);
        int width = Arrays.stream(widths).sum();
        return layer(collapsibleMerge(random, widths.length, width), shared);
    }

    private static void assertSameFunction(MoeLayer one, MoeLayer other) {
        Matrix tokens = random(11, HIDDEN, 5);
        Matrix dOutput = random(11, HIDDEN, 6);
        try (MoePass left = one.forward(tokens);
                MoePass right = other.forward(tokens)) {
            assertThat(distance(left.output(), right.output())).isLessThan(ROUNDING);
            Gradients dLeft = left.backward(dOutput);
            Gradients dRight = right.backward(dOutput);
            assertThat(distance(dLeft.input(), dRight.input())).isLessThan(ROUNDING);
            assertThat(dRight.parameters().get("experts.1.up").toArray())
                    .as("routed experts")
                    .containsExactly(dLeft.parameters().get("experts.1.up").toArray());
        }
        assertThat(distance(one.apply(tokens), other.apply(tokens))).isLessThan(ROUNDING);
    }

    @ParameterizedTest
    @ValueSource(
            ints = {
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
                29, 30
            })
    void theCollapsedLayerIsTheSameFunctionAndSoIsItSplitAgain(int seed) {
        MoeLayer layer = drawn(seed);
        MoeLayer collapsed = SharedBranchCollapse.collapse(layer);
        List<Experts> before = layer.shared().orElseThrow().experts();
        List<Experts> after = collapsed.shared().orElseThrow().experts();
        int[] widths = before.stream()
                .mapToInt(expert -> expert.shape().intermediateSize())
                .toArray();
        assertThat(after).hasSize(1);
        assertThat(after.get(0).shape().intermediateSize())
                .isEqualTo(Arrays.stream(widths).sum());
        assertSameFunction(layer, collapsed);
        MoeLayer again = SharedBranchCollapse.split(collapsed, widths);
        assertThat(again.shared().orElseThrow().experts()).hasSameSizeAs(before);
        assertSameFunction(layer, again);
    }

    /** Equation 77, on plain arrays: one gate times the sum of the experts, each of them token by token. */
    @Test
    void aCommonGateMultipliesTheSum() {
        List<Experts> shared = experts(SWIGLU, false, 3, 3, 5);
        GatedMerge merge = equalGates(SharedScore.SIGMOID, 2, 4);
        MoeLayer collapsed = SharedBranchCollapse.collapse(layer(merge, shared));
        OutputMerge gated = collapsed.shared().orElseThrow().merge();
        double[] row = {
            merge.gate().get(1, 0),
            merge.gate().get(1, 1),
            merge.gate().get(1, 2),
            merge.gate().get(1, 3)
        };
        assertThat(((GatedMerge) gated).gate().toArray()).containsExactly(row);
        double[] x = {0.3, -1.2, 0.7, 0.4};
        double z = 0;
        for (int i = 0; i < HIDDEN; i++) {
            z += row[i] * x[i];
        }
        double[] expected = new double[HIDDEN];
        for (Experts expert : shared) {
            double[] one = TokenwiseFeedForward.of(SWIGLU, expert.parameters().under("0"))
                    .output(x);
            for (int d = 0; d < HIDDEN; d++) {
                expected[d] += one[d] / (1 + Math.exp(-z));
            }
        }
        try (MoePass pass = collapsed.forward(BACKEND.matrix(1, HIDDEN, x))) {
            Matrix sharedPart = BACKEND.linearCombination(1, pass.output(), -1, pass.routedOutput());
            assertThat(distance(BACKEND.matrix(1, HIDDEN, expected), sharedPart))
                    .isLessThan(ROUNDING);
        }
    }

    @Test
    void theMergeStaysOrBecomesWhatTheVerdictSays() {
        List<Experts> shared = experts(SWIGLU, false, 1, 3, 5);
        ScaledMerge fixed = ScaledMerge.olmo(new ActiveWidths(2, 5, 8));
        assertThat(merge(SharedBranchCollapse.collapse(layer(fixed, shared)))).isSameAs(fixed);
        assertThat(merge(
                        SharedBranchCollapse.collapse(layer(gate(SharedScore.SIGMOID, new double[2][HIDDEN]), shared))))
                .isEqualTo(ScaledMerge.scaled(1, 0.5));
        List<Experts> three = experts(SWIGLU, false, 1, 3, 5, 1);
        assertThat(merge(SharedBranchCollapse.collapse(layer(equalGates(SharedScore.SOFTMAX, 3, 1), three))))
                .isEqualTo(ScaledMerge.scaled(1, 1.0 / 3));
    }

    private static OutputMerge merge(MoeLayer layer) {
        return layer.shared().orElseThrow().merge();
    }

    /** Sum of the rows' gradients, and the projections' gradients slice by slice. */
    @Test
    void gradientsOfTheWideFormAreThoseOfTheParts() {
        MoeLayer layer = layer(equalGates(SharedScore.SIGMOID, 3, 7), experts(SWIGLU, false, 1, 3, 5, 2));
        MoeLayer collapsed = SharedBranchCollapse.collapse(layer);
        Matrix tokens = random(9, HIDDEN, 8);
        Matrix dOutput = random(9, HIDDEN, 9);
        try (MoePass parts = layer.forward(tokens);
                MoePass wide = collapsed.forward(tokens)) {
            Gradients dParts = parts.backward(dOutput);
            Gradients dWide = wide.backward(dOutput);
            double[] rows = dParts.parameters().get("merge.gate").toArray();
            double[] row = dWide.parameters().get("merge.gate").toArray();
            for (int i = 0; i < HIDDEN; i++) {
                double sum = rows[i] + rows[HIDDEN + i] + rows[2 * HIDDEN + i];
                Tolerance.assertWithin("gate " + i, row[i], sum, ROUNDING * Tolerance.maxNorm(rows));
            }
            List<Double> below = new ArrayList<>();
            for (int j = 0; j < 3; j++) {
                for (double value :
                        dParts.parameters().get("shared." + j + ".up").toArray()) {
                    below.add(value);
                }
            }
            Matrix expected = BACKEND.matrix(
                    10, HIDDEN, below.stream().mapToDouble(Double::doubleValue).toArray());
            assertThat(distance(expected, dWide.parameters().get("shared.0.up")))
                    .isLessThan(ROUNDING);
        }
    }

    @Test
    void eachLayerClosesItsOwnSharedBranchAndTheCommonParts() {
        MoeLayer layer = layer(equalGates(SharedScore.SIGMOID, 2, 7), experts(SWIGLU, false, 1, 3, 5));
        MoeLayer collapsed = SharedBranchCollapse.collapse(layer);
        layer.shared().orElseThrow().experts().forEach(Experts::close);
        merge(layer).close();
        assertThat(collapsed.apply(random(2, HIDDEN, 1)).rows()).isEqualTo(2);
        collapsed.close();
        assertThatThrownBy(() -> layer.experts().parameters()).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(
                        () -> collapsed.shared().orElseThrow().experts().get(0).parameters())
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> merge(collapsed).parameters()).isInstanceOf(IllegalStateException.class);
    }

    private static void assertRefused(MoeLayer layer, String message) {
        assertThatThrownBy(() -> SharedBranchCollapse.collapse(layer))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void fewerThanTwoAreRefused() {
        MoeLayer one = layer(ScaledMerge.sum(), swiGlu(3, 1));
        assertRefused(one, "shared: expected at least 2 shared experts but was 1; there is nothing to collapse");
        assertRefused(
                MoeLayer.of(one.router(), one.experts()),
                "shared: expected at least 2 shared experts but was 0; there is nothing to collapse");
    }

    @Test
    void whatIsNotOneExpertIsRefused() {
        assertRefused(
                layer(ScaledMerge.sum(), swiGlu(3, 1), plain(3, new Activation.Relu(), false, 1)),
                "shared: expected experts of one activation (SwiGlu[] of shared[0]) but was Relu[] of shared[1];"
                        + " units of different activations are not one expert");
        assertRefused(
                layer(ScaledMerge.sum(), swiGlu(3, 1), swiGlu(3, 2), plain(3, SWIGLU, true, 1)),
                "shared: expected biases in all shared experts or in none (without in shared[0]) but was shared[2]"
                        + " with; an expert with biases of zero is the same function as one without");
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void distinctGatesAreRefused(SharedScore score) {
        double[] row = {1, 2, 3, 4};
        assertRefused(
                layer(gate(score, row, new double[HIDDEN], row), experts(SWIGLU, false, 1, 3, 5, 2)),
                "shared: expected one coefficient for all shared experts (equal rows of merge.gate) but was [0, 2] and"
                        + " [1] with rows of their own; coefficients that differ by expert and vary with the token do"
                        + " not fold into one down projection (Equation 78)");
    }

    @Test
    void whatCannotBeSeenIsRefused() {
        Experts own = new SharedLayers.OwnExperts(swiGlu(3, 1));
        assertRefused(
                layer(ScaledMerge.sum(), swiGlu(3, 2), own),
                "shared: expected FeedForwardExperts or SwiGluExperts but was "
                        + own.getClass().getName()
                        + " as shared[1]; whether it normalises, selects or reads something else cannot be seen");
        assertRefused(
                layer(new SharedLayers.OwnMerge(ScaledMerge.sum()), swiGlu(3, 2), swiGlu(3, 1)),
                "shared: expected a ScaledMerge or a GatedMerge but was " + SharedLayers.OwnMerge.class.getName()
                        + "; whether it multiplies all shared experts alike cannot be seen");
    }

    @Test
    void whatCannotBeSplitIsRefused() {
        MoeLayer two = layer(ScaledMerge.sum(), swiGlu(3, 1), swiGlu(2, 1));
        assertSplitRefused(two, "shared: expected 1 shared expert but was 2", 3, 2);
        assertSplitRefused(
                MoeLayer.of(two.router(), two.experts()), "shared: expected 1 shared expert but was 0", 3, 2);
        MoeLayer one = layer(ScaledMerge.sum(), swiGlu(5, 1));
        assertSplitRefused(one, "widths: expected 5 in all (intermediate size) but was 6", 3, 3);
        assertSplitRefused(one, "widths: expected 5 in all (intermediate size) but was 0");
        assertSplitRefused(
                layer(ScaledMerge.activeMean(2), swiGlu(5, 1)),
                "shared: expected 1 shared expert (merge.convention = active-mean with router.topK = 2) but was 2",
                3,
                2);
        assertSplitRefused(
                layer(new SharedLayers.OwnMerge(ScaledMerge.sum()), swiGlu(5, 1)),
                "shared: expected a ScaledMerge or a GatedMerge but was " + SharedLayers.OwnMerge.class.getName()
                        + "; whether it multiplies all shared experts alike cannot be seen",
                3,
                2);
    }

    private static void assertSplitRefused(MoeLayer layer, String message, int... widths) {
        assertThatThrownBy(() -> SharedBranchCollapse.split(layer, widths))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void namedConventionsSeeTheTotalWidthOnly() {
        ScaledMerge merge = ScaledMerge.widthProportional(new ActiveWidths(2, 5, 8));
        MoeLayer one = layer(merge, swiGlu(8, 1));
        MoeLayer split = SharedBranchCollapse.split(one, 1, 4, 3);
        assertThat(merge(split)).isSameAs(merge);
        assertThat(Collapsibility.of(split).trainsAlike()).isTrue();
        assertThatThrownBy(() -> one.withShared(SharedBranch.of(swiGlu(7, 1), merge)))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
