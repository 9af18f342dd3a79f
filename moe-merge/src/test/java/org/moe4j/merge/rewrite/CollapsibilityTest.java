package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.merge.rewrite.SharedLayers.BACKEND;
import static org.moe4j.merge.rewrite.SharedLayers.HIDDEN;
import static org.moe4j.merge.rewrite.SharedLayers.SWIGLU;
import static org.moe4j.merge.rewrite.SharedLayers.equalGates;
import static org.moe4j.merge.rewrite.SharedLayers.experts;
import static org.moe4j.merge.rewrite.SharedLayers.gate;
import static org.moe4j.merge.rewrite.SharedLayers.layer;
import static org.moe4j.merge.rewrite.SharedLayers.plain;
import static org.moe4j.merge.rewrite.SharedLayers.random;
import static org.moe4j.merge.rewrite.SharedLayers.swiGlu;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.merge.rewrite.Collapsibility.Apart;
import org.moe4j.merge.rewrite.Collapsibility.Difference;
import org.moe4j.merge.rewrite.Collapsibility.OneExpert;
import org.moe4j.merge.rewrite.Collapsibility.TooFew;
import org.moe4j.merge.rewrite.CommonCoefficient.CommonGate;
import org.moe4j.merge.rewrite.CommonCoefficient.ConstantGates;
import org.moe4j.merge.rewrite.CommonCoefficient.Fixed;
import org.moe4j.merge.rewrite.Obstacle.Activations;
import org.moe4j.merge.rewrite.Obstacle.Biases;
import org.moe4j.merge.rewrite.Obstacle.DistinctGates;
import org.moe4j.merge.rewrite.Obstacle.UnseenExpert;
import org.moe4j.merge.rewrite.Obstacle.UnseenMerge;

class CollapsibilityTest {
    private static final ActiveWidths WIDTHS = new ActiveWidths(2, 5, 8);

    static Stream<ScaledMerge> fixedMerges() {
        return Stream.of(
                ScaledMerge.sum(),
                ScaledMerge.scaled(0.7, -2),
                ScaledMerge.olmo(WIDTHS),
                ScaledMerge.routedUnitSum(WIDTHS),
                ScaledMerge.equalBranchMass(WIDTHS),
                ScaledMerge.widthProportional(WIDTHS));
    }

    @ParameterizedTest
    @MethodSource("fixedMerges")
    void fixedFactorsAreOneExpertThatTrainsAlike(ScaledMerge merge) {
        Collapsibility verdict = Collapsibility.of(layer(merge, experts(SWIGLU, false, 1, 3, 5)));
        assertThat(verdict).isEqualTo(new OneExpert(SWIGLU, false, List.of(3, 5), new Fixed(merge.sharedScale())));
        assertThat(verdict.collapsible()).isTrue();
        assertThat(verdict.trainsAlike()).isTrue();
    }

    @Test
    void typedAndGeneralExpertsAreTheSameKind() {
        MoeLayer layer = layer(ScaledMerge.sum(), swiGlu(3, 1), plain(4, SWIGLU, false, 2));
        assertThat(Collapsibility.of(layer)).hasToString("""
                        2 shared experts are one of width 3 + 4 = 7
                          one activation: SwiGlu[], no biases
                          one coefficient: 1.0, fixed (Equation 76)
                          same function: yes
                          trains alike: yes, under an optimizer that works element by element""");
    }

    @Test
    void downBiasesTrainOtherwise() {
        Collapsibility verdict =
                Collapsibility.of(layer(ScaledMerge.sum(), experts(new Activation.Relu(), true, 1, 3, 5, 2)));
        assertThat(verdict.collapsible()).isTrue();
        assertThat(verdict.trainsAlike()).isFalse();
        OneExpert one = (OneExpert) verdict;
        assertThat(one.differences()).containsExactly(Difference.DOWN_BIASES);
        assertThat(one.width()).isEqualTo(10);
        assertThat(verdict).hasToString("""
                        3 shared experts are one of width 3 + 5 + 2 = 10
                          one activation: Relu[], biases in all
                          one coefficient: 1.0, fixed (Equation 76)
                          same function: yes
                          trains alike: no, [DOWN_BIASES]""");
    }

    @Test
    void equalSigmoidGatesAreOneGateThatTrainsOtherwise() {
        MoeLayer layer = layer(equalGates(SharedScore.SIGMOID, 3, 1), experts(SWIGLU, false, 1, 3, 5, 2));
        Collapsibility verdict = Collapsibility.of(layer);
        assertThat(verdict).isEqualTo(new OneExpert(SWIGLU, false, List.of(3, 5, 2), new CommonGate()));
        assertThat(((OneExpert) verdict).differences()).containsExactly(Difference.GATE_ROWS);
        assertThat(verdict.toString())
                .contains("one coefficient: one sigmoid gate, from equal gate rows (Equation 77)\n"
                        + "  same function: yes\n  trains alike: no, [GATE_ROWS]");
    }

    @Test
    void sigmoidGatesOfZeroAreAHalf() {
        double[] zero = {0, -0.0, 0, 0};
        MoeLayer layer = layer(gate(SharedScore.SIGMOID, zero, new double[HIDDEN]), experts(SWIGLU, true, 1, 3, 5));
        OneExpert verdict = (OneExpert) Collapsibility.of(layer);
        assertThat(verdict.coefficient()).isEqualTo(new ConstantGates(SharedScore.SIGMOID, 0.5));
        assertThat(verdict.differences()).containsExactly(Difference.GATE_ROWS, Difference.DOWN_BIASES);
        assertThat(verdict.coefficient()).hasToString("0.5 whatever the token, from gate rows of zero (SIGMOID)");
    }

    @ParameterizedTest
    @EnumSource(
            value = SharedScore.class,
            names = {"SOFTMAX", "NORMALIZED_SIGMOID"})
    void equalRowsOfASharedRouterAreTheMean(SharedScore score) {
        MoeLayer layer = layer(equalGates(score, 3, 1), experts(SWIGLU, false, 1, 3, 5, 2));
        OneExpert verdict = (OneExpert) Collapsibility.of(layer);
        assertThat(verdict.coefficient()).isEqualTo(new ConstantGates(score, 1.0 / 3));
        assertThat(verdict.differences()).containsExactly(Difference.GATE_ROWS);
        assertThat(verdict.coefficient())
                .hasToString("0.3333333333333333 whatever the token, from equal gate rows (" + score + ")");
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void distinctGatesKeepExpertsApart(SharedScore score) {
        double[] a = {1, 0, 0, 0};
        double[] b = {1, 0, 0, Double.MIN_VALUE};
        MoeLayer layer = layer(gate(score, a, b, a), experts(SWIGLU, false, 1, 3, 5, 2));
        Collapsibility verdict = Collapsibility.of(layer);
        List<List<Integer>> groups = List.of(List.of(0, 2), List.of(1));
        assertThat(verdict).isEqualTo(new Apart(3, List.of(new DistinctGates(score, groups, Optional.empty()))));
        assertThat(verdict.collapsible()).isFalse();
        assertThat(verdict.trainsAlike()).isFalse();
        assertThat(verdict)
                .hasToString("3 shared experts are not one\n"
                        + "  one coefficient: expected one coefficient for all shared experts (equal rows of merge.gate)"
                        + " but was [0, 2] and [1] with rows of their own; coefficients that differ by expert and vary"
                        + " with the token do not fold into one down projection (Equation 78)");
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY})
    void rowsThatAreNotFiniteEqualNone(double value) {
        double[] row = {1, value, 0, 0};
        MoeLayer layer = layer(gate(SharedScore.SOFTMAX, row, row), experts(SWIGLU, false, 1, 3, 5));
        List<List<Integer>> groups = List.of(List.of(0), List.of(1));
        assertThat(Collapsibility.of(layer))
                .isEqualTo(new Apart(2, List.of(new DistinctGates(SharedScore.SOFTMAX, groups, Optional.empty()))));
    }

    @Test
    void tokensShowHowNearAFixedProjectionComes() {
        GatedMerge merge = GatedMerge.random(2, HIDDEN, SharedScore.SIGMOID, BACKEND, 1);
        MoeLayer layer = layer(merge, experts(SWIGLU, false, 1, 3, 5));
        DistinctGates gates = (DistinctGates) ((Apart) Collapsibility.of(layer, random(40, HIDDEN, 1)))
                .obstacles()
                .get(0);
        DownFit fit = DownFit.of(layer, random(40, HIDDEN, 1));
        assertThat(gates.fit()).contains(fit);
        assertThat(gates.toString()).endsWith("(Equation 78)\n  as near as it gets: " + fit);
        assertThatThrownBy(() -> Collapsibility.of(layer, random(15, HIDDEN, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("tokens: expected at least 16 rows");
    }

    @Test
    void tokensAreReadOnlyWhereGatesDiffer() {
        MoeLayer layer = layer(ScaledMerge.sum(), experts(SWIGLU, false, 1, 3, 5));
        assertThat(Collapsibility.of(layer, random(0, HIDDEN, 1)).collapsible()).isTrue();
    }

    @Test
    void fewerThanTwoAreNothingToCollapse() {
        MoeLayer one = layer(ScaledMerge.sum(), swiGlu(3, 1));
        assertThat(Collapsibility.of(one)).isEqualTo(new TooFew(1)).hasToString("1 shared expert: nothing to collapse");
        MoeLayer none = MoeLayer.of(one.router(), one.experts());
        assertThat(Collapsibility.of(none))
                .isEqualTo(new TooFew(0))
                .hasToString("no shared expert: nothing to collapse");
        assertThat(Collapsibility.of(layer(ScaledMerge.sum()))).isEqualTo(new TooFew(0));
        assertThat(Collapsibility.of(one).collapsible()).isFalse();
        assertThat(Collapsibility.of(one).trainsAlike()).isFalse();
    }

    @Test
    void whatIsDifferentIsNamed() {
        Activation silu = new Activation.Silu();
        Experts second = plain(3, silu, true, 1);
        MoeLayer layer = layer(ScaledMerge.sum(), swiGlu(3, 1), second, swiGlu(3, 2));
        assertThat(Collapsibility.of(layer))
                .isEqualTo(new Apart(3, List.of(new Activations(SWIGLU, 1, silu), new Biases(false, 1))))
                .hasToString("3 shared experts are not one\n"
                        + "  one activation: expected experts of one activation (SwiGlu[] of shared[0])"
                        + " but was Silu[] of shared[1]; units of different activations are not one expert\n"
                        + "  biases alike: expected biases in all shared experts or in none (without in shared[0])"
                        + " but was shared[1] with; an expert with biases of zero is the same function as one without");
        MoeLayer reverse = layer(ScaledMerge.sum(), plain(3, SWIGLU, true, 1), swiGlu(3, 1));
        assertThat(Collapsibility.of(reverse).toString())
                .contains("(with in shared[0]) but was shared[1] without; an expert");
    }

    @Test
    void whatCannotBeSeenIsNotJudged() {
        Experts own = new SharedLayers.OwnExperts(plain(3, new Activation.Relu(), false, 1));
        String type = own.getClass().getName();
        MoeLayer first = layer(new SharedLayers.OwnMerge(ScaledMerge.sum()), own, swiGlu(2, 1));
        String merge = SharedLayers.OwnMerge.class.getName();
        assertThat(Collapsibility.of(first))
                .isEqualTo(new Apart(2, List.of(new UnseenExpert(0, type), new UnseenMerge(merge))))
                .hasToString("2 shared experts are not one\n"
                        + "  plain experts: expected FeedForwardExperts or SwiGluExperts but was " + type
                        + " as shared[0]; whether it normalises, selects or reads something else cannot be seen\n"
                        + "  one coefficient: expected a ScaledMerge or a GatedMerge but was " + merge
                        + "; whether it multiplies all shared experts alike cannot be seen");
        GatedMerge gates = GatedMerge.random(2, HIDDEN, SharedScore.SIGMOID, BACKEND, 1);
        Apart second = (Apart) Collapsibility.of(layer(gates, swiGlu(2, 1), own), random(40, HIDDEN, 1));
        assertThat(second.obstacles())
                .as("no fit of what cannot be seen")
                .containsExactly(
                        new UnseenExpert(1, type),
                        new DistinctGates(SharedScore.SIGMOID, List.of(List.of(0), List.of(1)), Optional.empty()));
    }
}
