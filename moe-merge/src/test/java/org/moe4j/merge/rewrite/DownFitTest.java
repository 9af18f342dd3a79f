package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.merge.rewrite.SharedLayers.BACKEND;
import static org.moe4j.merge.rewrite.SharedLayers.HIDDEN;
import static org.moe4j.merge.rewrite.SharedLayers.SWIGLU;
import static org.moe4j.merge.rewrite.SharedLayers.equalGates;
import static org.moe4j.merge.rewrite.SharedLayers.experts;
import static org.moe4j.merge.rewrite.SharedLayers.gate;
import static org.moe4j.merge.rewrite.SharedLayers.layer;
import static org.moe4j.merge.rewrite.SharedLayers.random;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.PlainActivations;
import org.moe4j.core.testing.standin.ForeignMatrix;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;

class DownFitTest {
    /** u times the 60 tokens times the 11 columns. */
    private static final double ROUNDING = 1e-13;

    static Stream<Arguments> kinds() {
        return PlainActivations.ALL.stream()
                .flatMap(activation -> Stream.of(Arguments.of(activation, false), Arguments.of(activation, true)));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void fixedCoefficientsLeaveRounding(Activation activation, boolean biases) {
        MoeLayer layer = layer(ScaledMerge.scaled(1, 0.3), experts(activation, biases, 1, 3, 5, 2));
        DownFit fit = DownFit.of(layer, random(60, HIDDEN, 2));
        assertThat(fit.residual()).isLessThan(ROUNDING);
        assertThat(fit.tokens()).isEqualTo(60);
        assertThat(fit.units()).isEqualTo(biases ? 11 : 10);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void distinctGatesLeaveMuchMore(Activation activation, boolean biases) {
        GatedMerge merge = GatedMerge.random(3, HIDDEN, SharedScore.SIGMOID, BACKEND, 3);
        MoeLayer layer = layer(merge, experts(activation, biases, 1, 3, 5, 2));
        assertThat(DownFit.of(layer, random(200, HIDDEN, 2)).residual()).isBetween(1e-3, 1.0);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void tokensThatAreNotFiniteAreRefused(Activation activation, boolean biases) {
        GatedMerge merge = GatedMerge.random(2, HIDDEN, SharedScore.SIGMOID, BACKEND, 3);
        MoeLayer layer = layer(merge, experts(activation, biases, 1, 3, 5));
        double[] values = new double[60 * HIDDEN];
        for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY}) {
            values[2 * HIDDEN + 1] = bad;
            Matrix tokens = BACKEND.matrix(60, HIDDEN, values);
            String message = "tokens: expected finite values but was " + bad + " in row 2, column 1";
            assertThatThrownBy(() -> DownFit.of(layer, tokens))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(message);
            assertThatThrownBy(() -> Collapsibility.of(layer, tokens))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(message);
        }
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void gatesThatAreConstantLeaveRounding(SharedScore score) {
        double[] row = score == SharedScore.SIGMOID ? new double[HIDDEN] : new double[] {1, -2, 3, 0.5};
        MoeLayer layer = layer(gate(score, row, row, row), experts(SWIGLU, false, 1, 3, 5, 2));
        assertThat(DownFit.of(layer, random(60, HIDDEN, 2)).residual()).isLessThan(ROUNDING);
    }

    @Test
    void aCommonGateStaysOutsideTheFit() {
        MoeLayer layer = layer(equalGates(SharedScore.SIGMOID, 2, 1), experts(SWIGLU, false, 1, 3, 5));
        assertThat(DownFit.of(layer, random(60, HIDDEN, 2)).residual()).isGreaterThan(0.01);
    }

    /**
     * Experts of one unit relu(w·x) whose weights are all 1: with all of them the fit is exact, and selecting the one with the
     * largest x_e alone loses most of it.
     */
    @Test
    void selectionAloneKeepsExpertsApart() {
        double[][] hidden = new double[200][3];
        double[][] all = new double[200][1];
        double[][] selected = new double[200][1];
        SplittableRandom random = new SplittableRandom(1);
        double[] down = {1, -2, 3};
        for (int t = 0; t < hidden.length; t++) {
            hidden[t] = random.doubles(3, 0, 1).toArray();
            int best = 0;
            for (int e = 0; e < 3; e++) {
                all[t][0] += down[e] * hidden[t][e];
                best = hidden[t][e] > hidden[t][best] ? e : best;
            }
            selected[t][0] = down[best] * hidden[t][best];
        }
        assertThat(LeastSquares.residual(hidden, all)).isLessThan(ROUNDING);
        assertThat(LeastSquares.residual(hidden, selected)).isGreaterThan(0.3);
    }

    /** h = relu(x_0) = 1 for every token; the gate reads x_1. */
    private static Experts constantUnit(double down) {
        Parameters weights = Parameters.of(Map.of(
                "up", BACKEND.matrix(1, 2, new double[] {1, 0}),
                "down", BACKEND.matrix(2, 1, new double[] {down, 0})));
        return FeedForwardExperts.of(new Activation.Relu(), List.of(weights));
    }

    private static MoeLayer constantUnits(GatedMerge merge, double... downs) {
        List<Experts> shared =
                Stream.of(downs[0], downs[1]).map(DownFitTest::constantUnit).toList();
        return MoeLayer.of(new EvenRouter(1, 1), SwiGluExperts.random(new ExpertShape(1, 2, 1), BACKEND, 1))
                .withShared(new SharedBranch(shared, merge));
    }

    /** As many tokens with x_1 = ln 3 as with −ln 3: σ is 3/4 and 1/4. */
    private static Matrix twoKinds(int pairs) {
        double[] values = new double[4 * pairs];
        for (int t = 0; t < 2 * pairs; t++) {
            values[2 * t] = 1;
            values[2 * t + 1] = (t % 2 == 0 ? 1 : -1) * Math.log(3);
        }
        return BACKEND.matrix(2 * pairs, 2, values);
    }

    /**
     * Y is ¾·a + ½·b or ¼·a + ½·b, the best constant (a + b)/2: the residual is {@code (a/4)/√((a + b)²/4 + a²/16)}.
     */
    @Test
    void theResidualOfTwoUnitsIsThatOfTheFormula() {
        GatedMerge merge = gate(SharedScore.SIGMOID, new double[] {0, 1}, new double[] {0, 0});
        assertThat(DownFit.of(constantUnits(merge, 1, 0), twoKinds(3)).residual())
                .isCloseTo(Math.sqrt(0.2), within(ROUNDING));
        assertThat(DownFit.of(constantUnits(merge, 2, -1), twoKinds(3)).residual())
                .isCloseTo(Math.sqrt(0.5), within(ROUNDING));
    }

    /** σ(z) + σ(−z) = 1: gates that differ, on equal experts, and still nothing is lost; on opposite ones everything is. */
    @Test
    void gatesThatDifferMayStillAddUp() {
        GatedMerge opposite = gate(SharedScore.SIGMOID, new double[] {0, 1}, new double[] {0, -1});
        assertThat(DownFit.of(constantUnits(opposite, 1, 1), twoKinds(3)).residual())
                .isLessThan(ROUNDING);
        assertThat(DownFit.of(constantUnits(opposite, 1, -1), twoKinds(3)).residual())
                .isCloseTo(1, within(ROUNDING));
    }

    @Test
    void unitsThatAreNeverActiveTakeNothing() {
        GatedMerge merge = gate(SharedScore.SIGMOID, new double[] {0, 1}, new double[] {0, 0});
        Parameters dead = Parameters.of(Map.of(
                "up", BACKEND.matrix(3, 2, new double[] {-1, 0, -2, 0, 1, 0}),
                "down", BACKEND.matrix(2, 3, new double[] {7, 7, 0, 7, 7, 0})));
        Experts second = FeedForwardExperts.of(new Activation.Relu(), List.of(dead));
        MoeLayer layer = MoeLayer.of(new EvenRouter(1, 1), SwiGluExperts.random(new ExpertShape(1, 2, 1), BACKEND, 1))
                .withShared(new SharedBranch(List.of(constantUnit(1), second), merge));
        assertThat(DownFit.of(layer, twoKinds(6)).residual()).isCloseTo(Math.sqrt(0.2), within(ROUNDING));
    }

    @Test
    void aBranchThatGivesZeroLosesNothing() {
        MoeLayer layer = layer(ScaledMerge.scaled(1, 0), experts(SWIGLU, false, 1, 3, 5));
        assertThat(DownFit.of(layer, random(60, HIDDEN, 2)).residual()).isZero();
    }

    @Test
    void itPrintsWhatItMeans() {
        assertThat(new DownFit(0.25, 60, 10))
                .hasToString("the best fixed down projection misses 0.25 of the branch's norm (60 tokens, 10 units)");
    }

    @Test
    void badArgumentsAreRefused() {
        MoeLayer layer = layer(ScaledMerge.sum(), experts(SWIGLU, true, 1, 3, 5));
        assertThatThrownBy(() -> DownFit.of(layer, random(17, HIDDEN, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("tokens: expected at least 18 rows (twice the 9 units of the shared experts) but was 17;"
                        + " a fit to fewer tokens looks better than it is");
        assertThat(DownFit.of(layer, random(18, HIDDEN, 1)).residual()).isLessThan(ROUNDING);
        assertThatThrownBy(() -> DownFit.of(layer, random(18, 3, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("tokens: expected 4 columns (hidden size of the shared experts) but was 3");
        assertThatThrownBy(() -> DownFit.of(layer, new ForeignMatrix(18, HIDDEN)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("tokens: expected a matrix of ReferenceBackend but was one of Foreign");
        MoeLayer without = MoeLayer.of(layer.router(), layer.experts());
        assertThatThrownBy(() -> DownFit.of(without, random(18, HIDDEN, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("layer: expected at least 1 shared expert but was 0");
        Experts own = new SharedLayers.OwnExperts(SharedLayers.swiGlu(3, 1));
        assertThatThrownBy(() -> DownFit.of(layer(ScaledMerge.sum(), own), random(18, HIDDEN, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared: expected FeedForwardExperts or SwiGluExperts but was "
                        + own.getClass().getName()
                        + " as shared[0]; whether it normalises, selects or reads something else cannot be seen");
    }

    @Test
    void outputsThatAreNotFiniteAreErrors() {
        MoeLayer layer = layer(ScaledMerge.sum(), experts(new Activation.ReluSquared(), false, 1, 3, 5));
        double[] huge = new double[16 * HIDDEN];
        Arrays.fill(huge, 1e200);
        assertThatThrownBy(() -> DownFit.of(layer, BACKEND.matrix(16, HIDDEN, huge)))
                .isInstanceOf(ArithmeticException.class)
                .hasMessageStartingWith("shared: expected finite outputs but token 0 has ");
    }
}
