package org.moe4j.core.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.reference.ReferenceBackend;

/** Which tokens are served, and what passes the others by: one expert that takes a single row. */
class AdmissionTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final Limited ONE_ROW = Capacity.of(RowLimit.rows(1)).withUnserved(UnservedTokens.PASSED);

    /** Token 0 is served by both experts, token 1 by the last one alone, token 2 by none. */
    private static final Routing ROUTING =
            Routing.of(3, 2, new int[] {0, 1, 0, 2, 0, 1}, new double[] {0.5, 0.25, 0.125, 0.75, 2, 4});

    @Test
    void aTokenThatKeptOneExpertIsServed() {
        Admission admission = Admission.of(ROUTING, ONE_ROW, List.of());
        assertThat(admission.dropped()).isEqualTo(3);
        assertThat(admission.passed(0)).isZero();
        assertThat(admission.passed(1)).isZero();
        assertThat(admission.passed(2)).isEqualTo(1);
        assertThat(Admission.of(ROUTING, ONE_ROW.withUnserved(UnservedTokens.PASSED_WEIGHTED), List.of())
                        .passed(2))
                .isEqualTo(6);
        assertThat(Admission.of(ROUTING, ONE_ROW.withUnserved(UnservedTokens.ZERO), List.of())
                        .passed(2))
                .isZero();
    }

    @Test
    void aPlanPassesWhereOneOfItsTokensIsUnserved() {
        Admission admission = Admission.of(ROUTING, ONE_ROW, List.of());
        assertThat(DispatchPlan.of(admission).passes()).isTrue();
        assertThat(DispatchPlan.ofTokens(admission, 0, 2).passes()).isFalse();
        assertThat(DispatchPlan.ofTokens(admission, 1, 3).passes()).isTrue();
        assertThat(DispatchPlan.of(ROUTING, Capacity.dropless()).passes()).isFalse();
    }

    @Test
    void weightsOfUnservedTokensAloneHaveGradientsOfWhatPasses() {
        DispatchPlan plan = DispatchPlan.of(ROUTING, ONE_ROW.withUnserved(UnservedTokens.PASSED_WEIGHTED));
        Matrix tokens = BACKEND.matrix(3, 1, new double[] {2, 3, 5});
        Matrix dRouted = BACKEND.matrix(3, 1, new double[] {7, 11, 13});
        double[] dWeights = new double[6];
        plan.addPassedWeights(dWeights, tokens, dRouted);
        assertThat(dWeights).containsExactly(0, 0, 0, 0, 65, 65);
    }

    @Test
    void aPartCombinesBackToItsOwnTokens() {
        Admission admission = Admission.of(ROUTING, Capacity.dropless(), List.of());
        DispatchPlan part = DispatchPlan.ofTokens(admission, 1, 3); // rows: token 1 and 2 of expert 0, 2 of 1, 1 of 2
        assertThat(part.rows()).containsExactly(1, 2, 2, 1);
        Matrix outputs = BACKEND.matrix(4, 1, new double[] {2, 3, 5, 7});
        Matrix dOutput = BACKEND.matrix(2, 1, new double[] {11, 13});
        DispatchPlan.CombineGradients gradients = part.combineBackward(outputs, dOutput);
        assertThat(gradients.weights()).containsExactly(0, 0, 22, 77, 39, 65);
        assertThat(gradients.expertOutputs().toArray()).containsExactly(0.125 * 11, 2 * 13, 4 * 13, 0.75 * 11);
        assertThat(part.isDropped(2, 1)).isFalse();
        assertThatThrownBy(() -> part.isDropped(3, 0)).isInstanceOf(IndexOutOfBoundsException.class);
        Matrix few = BACKEND.matrix(2, 1, new double[] {1, 2});
        assertThatThrownBy(() -> part.combineBackward(few, dOutput))
                .hasMessage("expertOutputs: expected 4 rows (rows of the plan) but was 2");
    }

    @Test
    void keptWeightsThatAddUpToOneHaveNoScale() {
        Limited unitSum = ONE_ROW.withKeptWeights(KeptWeights.UNIT_SUM);
        unitSum.requireScale(1);
        ONE_ROW.requireScale(2.5);
        Capacity.dropless().requireScale(2.5);
        assertThatThrownBy(() -> unitSum.requireScale(2.5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "router: expected scale 1 (kept weights of the capacity add up to 1 and would lose it) but was 2.5; "
                                + "take KeptWeights.UNCHANGED");
    }

    @Test
    void sumsAtTheSmallestDivideAndBelowDoNot() {
        double smallest = KeptWeights.SMALLEST_SUM;
        Limited unitSum = Capacity.of(RowLimit.rows(2)).withKeptWeights(KeptWeights.UNIT_SUM);
        Routing at = Routing.of(1, 1, new int[] {0, 0}, new double[] {smallest, smallest / 2});
        Admission admission = Admission.of(at, unitSum, List.of());
        assertThat(admission.weight(0, 0)).isEqualTo(1);
        assertThat(admission.weight(1, 0)).isEqualTo(smallest / 2);
    }

    @Test
    void aGroupThatCannotBeIsNamed() {
        for (RowLimit limit : List.of(RowLimit.rows(1), RowLimit.factor(1))) {
            assertThatThrownBy(() -> limit.rowsPerExpert(-1, 0, 1))
                    .hasMessage("tokens: expected at least 0 but was -1");
            assertThatThrownBy(() -> limit.rowsPerExpert(1, -2, 1)).hasMessage("slots: expected at least 0 but was -2");
            assertThatThrownBy(() -> limit.rowsPerExpert(1, 1, 0)).hasMessage("experts: expected at least 1 but was 0");
        }
    }

    @Test
    void weightsThatAreNotFiniteAreFoundWhereverTheyStand() {
        for (int at = 0; at < 3; at++) {
            for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
                double[] weights = {1, 2, 3};
                weights[at] = bad;
                assertThatThrownBy(() -> Routing.of(3, 3, new int[] {0, 1, 2}, weights))
                        .hasMessage("weights: expected finite weights but was " + bad + " for token 0");
            }
        }
        assertThatThrownBy(() -> Routing.of(3, 1, new int[] {0, 3}, new double[2]))
                .hasMessage("expertIndices: expected 0..2 (experts) but was 3 for token 1");
    }
}
