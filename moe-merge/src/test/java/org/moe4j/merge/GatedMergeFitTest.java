package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.standin.ForeignMatrix;

/** What a gated merge takes and refuses, and its parameters. */
class GatedMergeFitTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final PlainRouter ANY = new PlainRouter(2, 1, false, 2.5);

    private final Experts routed = bank(2, 3);
    private final Experts shared = bank(1, 3);

    private static Experts bank(int count, int hidden) {
        return SwiGluExperts.random(new ExpertShape(count, hidden, 4), BACKEND, 1);
    }

    private static Matrix random(int rows, int columns) {
        double[] values =
                new SplittableRandom(1).doubles((long) rows * columns, -1, 1).toArray();
        return BACKEND.matrix(rows, columns, values);
    }

    private static GatedMerge merge(SharedScore score, int shared, int hidden) {
        return new GatedMerge(random(shared, hidden), score);
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void fitsAnyRouterAndAnExpertPerRow(SharedScore score) {
        GatedMerge merge = merge(score, 2, 3);
        String wanted = "shared: expected 2 shared experts (rows of the gate, merge.convention = " + merge.name() + ")";
        assertThatCode(() -> merge.requireFits(ANY, routed, List.of(shared, shared)))
                .doesNotThrowAnyException();
        assertThatThrownBy(() -> merge.requireFits(ANY, routed, List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(wanted + " but was 0");
        assertThatThrownBy(() -> merge.requireFits(ANY, routed, List.of(shared, shared, shared)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(wanted + " but was 3");
        assertThatCode(() -> merge.requireFits(ANY, bank(2, 4), List.of(shared, shared)))
                .as("latent experts")
                .doesNotThrowAnyException();
        Experts wide = bank(1, 4);
        assertThatThrownBy(() -> merge.requireFits(ANY, routed, List.of(wide, wide)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gate: expected 4 columns (hidden size of the experts) but was 3");
    }

    @Test
    void oneSigmoidGateTakesOneExpert() {
        GatedMerge merge = merge(SharedScore.SIGMOID, 1, 3);
        assertThatCode(() -> merge.requireFits(ANY, routed, List.of(shared))).doesNotThrowAnyException();
        assertThatThrownBy(() -> merge.requireFits(ANY, routed, List.of(shared, shared)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared: expected 1 shared expert (rows of the gate, merge.convention = sigmoid-gated)"
                        + " but was 2");
    }

    @ParameterizedTest
    @EnumSource(
            value = SharedScore.class,
            names = {"SOFTMAX", "NORMALIZED_SIGMOID"})
    void aRouterOverOneExpertIsRefused(SharedScore score) {
        assertThatThrownBy(() -> merge(score, 1, 3).requireFits(ANY, routed, List.of(shared)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared: expected at least 2 shared experts (merge.convention = shared-router) but was 1;"
                        + " choose merge.convention = sum, or keep several experts apart with shared.apart = true");
    }

    @Test
    void theGateGoesOutAndIn() {
        Matrix gate = BACKEND.matrix(2, 2, new double[] {1, 2, 3, 4});
        GatedMerge merge = new GatedMerge(gate, SharedScore.SOFTMAX);
        gate.close();
        merge.parameters().close();
        assertThat(merge.name()).isEqualTo("shared-router");
        assertThat(merge.parameters().get("gate").toArray()).containsExactly(1, 2, 3, 4);
        GatedMerge changed =
                merge.withParameters(Parameters.of("gate", BACKEND.matrix(2, 2, new double[] {5, 6, 7, 8})));
        assertThat(changed.gate().toArray()).containsExactly(5, 6, 7, 8);
        assertThat(changed.score()).isEqualTo(SharedScore.SOFTMAX);
        merge.close();
        merge.close();
        assertThatThrownBy(merge::parameters).isInstanceOf(IllegalStateException.class);
        assertThat(changed.gate().get(0, 0)).isEqualTo(5);
    }

    @Test
    void namesAreThoseOfPresets() {
        assertThat(merge(SharedScore.SIGMOID, 1, 2).name()).isEqualTo("sigmoid-gated");
        assertThat(merge(SharedScore.SIGMOID, 3, 2).name()).isEqualTo("sigmoid-gated");
        assertThat(merge(SharedScore.NORMALIZED_SIGMOID, 3, 2).name()).isEqualTo("shared-router");
    }

    @Test
    void randomGatesHaveTheStatedDeviation() {
        double[] gate = GatedMerge.random(3, 10_000, SharedScore.SOFTMAX, BACKEND, 3)
                .gate()
                .toArray();
        double squares = Arrays.stream(gate).map(v -> v * v).sum();
        assertThat(gate).hasSize(30_000);
        assertThat(squares).isCloseTo(3, within(.1)); // 30,000 numbers of variance 1/10,000
    }

    @Test
    void badArgumentsAreRefused() {
        GatedMerge merge = merge(SharedScore.SIGMOID, 2, 2);
        Matrix tokens = random(3, 2);
        List<Matrix> both = List.of(tokens, tokens);
        assertThatThrownBy(() -> merge.merge(random(3, 4), tokens, both))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("tokens: expected 2 columns (hidden size of the gate) but was 4");
        assertThatThrownBy(() -> merge.merge(new ForeignMatrix(3, 2), tokens, both))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("tokens: expected a matrix of ReferenceBackend but was one of Foreign");
        assertThatThrownBy(() -> merge.merge(tokens, tokens, List.of(tokens)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared: expected 2 shared experts (rows of the gate, merge.convention = sigmoid-gated)"
                        + " but was 1");
        assertThatThrownBy(() -> merge.merge(tokens, tokens, List.of(tokens, random(2, 2))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared[1]: expected 3 x 2 (shape of tokens) but was 2 x 2");
        MergePass pass = merge.merge(tokens, tokens, both);
        assertThatThrownBy(() -> pass.backward(random(2, 2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("dOutput: expected 3 x 2 (shape of the output) but was 2 x 2");
        assertThatThrownBy(() -> pass.backward(new ForeignMatrix(3, 2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("dOutput: expected a matrix of ReferenceBackend");
    }

    @Test
    void badGatesAreRefused() {
        assertThatThrownBy(() -> merge(SharedScore.SIGMOID, 0, 3))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gate: expected at least 1 row (shared experts) but was 0");
        assertThatThrownBy(() -> merge(SharedScore.SIGMOID, 1, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gate: expected at least 1 column (hidden size) but was 0");
        assertThatThrownBy(() -> GatedMerge.random(0, 1, SharedScore.SIGMOID, BACKEND, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("experts: expected at least 1 but was 0");
        assertThatThrownBy(() -> GatedMerge.random(1, 0, SharedScore.SIGMOID, BACKEND, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("hiddenSize: expected at least 1 but was 0");
        GatedMerge merge = merge(SharedScore.SIGMOID, 1, 2);
        assertThatThrownBy(() -> merge.withParameters(Parameters.of("gate", BACKEND.buffer(2, 2))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gate: expected 1 x 2 (shape of the gate it replaces) but was 2 x 2");
        assertThatThrownBy(() -> merge.withParameters(Parameters.none()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("parameters: expected a matrix named gate but was a set without it");
    }
}
