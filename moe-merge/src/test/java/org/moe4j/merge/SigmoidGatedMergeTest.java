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
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MergePass.BranchGradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.ForeignMatrix;

class SigmoidGatedMergeTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private static Matrix random(int rows, int columns, long seed) {
        double[] values =
                new SplittableRandom(seed).doubles((long) rows * columns, -1, 1).toArray();
        return BACKEND.matrix(rows, columns, values);
    }

    private static SigmoidGatedMerge merge(double... gate) {
        return new SigmoidGatedMerge(BACKEND.matrix(1, gate.length, gate));
    }

    @Test
    void gatesTheSharedBranchTokenByToken() {
        SigmoidGatedMerge merge = merge(.5, -2, 1);
        Matrix tokens = random(4, 3, 1);
        Matrix routed = random(4, 3, 2);
        Matrix shared = random(4, 3, 3);
        MergePass pass = merge.merge(tokens, routed, List.of(shared));
        for (int t = 0; t < 4; t++) {
            double z = .5 * tokens.get(t, 0) - 2 * tokens.get(t, 1) + tokens.get(t, 2);
            double sigma = 1 / (1 + Math.exp(-z));
            assertThat(pass.routedFactor(t)).isEqualTo(1);
            assertThat(pass.sharedFactor(t, 0)).isCloseTo(sigma, within(1e-15));
            for (int c = 0; c < 3; c++) {
                assertThat(pass.output().get(t, c))
                        .isCloseTo(routed.get(t, c) + sigma * shared.get(t, c), within(1e-15));
            }
        }
        assertThatThrownBy(() -> pass.sharedFactor(0, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> pass.routedFactor(4)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void extremeGatesAreOpenOrShut() {
        Matrix tokens = BACKEND.matrix(3, 1, new double[] {1e4, -1e4, 0});
        Matrix ones = BACKEND.matrix(3, 1, new double[] {1, 1, 1});
        MergePass pass = merge(1).merge(tokens, ones, List.of(ones));
        assertThat(pass.output().toArray()).containsExactly(2, 1, 1.5);
        BranchGradients d = pass.backward(ones);
        assertThat(d.tokens().orElseThrow().toArray()).containsExactly(0, 0, .25);
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "1, 5", "4, 3", "7, 2"})
    void agreesWithDifferences(int tokens, int hidden) {
        int size = tokens * hidden;
        double[] all = new SplittableRandom(tokens * 31L + hidden)
                .doubles(3L * size + hidden, -1, 1)
                .toArray(); // tokens, routed, shared, gate
        Matrix dOutput = random(tokens, hidden, 10);
        BranchGradients d = run(all, tokens, hidden).backward(dOutput);
        double[] numeric = FiniteDifferences.gradient(
                at -> {
                    Matrix output = run(at, tokens, hidden).output();
                    return Arrays.stream(BACKEND.rowDots(output, dOutput)).sum();
                },
                all);
        double[] analytic = new double[all.length];
        System.arraycopy(d.tokens().orElseThrow().toArray(), 0, analytic, 0, size);
        System.arraycopy(d.routed().toArray(), 0, analytic, size, size);
        System.arraycopy(d.shared().get(0).toArray(), 0, analytic, 2 * size, size);
        System.arraycopy(d.parameters().get("gate").toArray(), 0, analytic, 3 * size, hidden);
        assertThat(d.parameters().names()).containsExactly("gate");
        assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(numeric)))
                .isLessThanOrEqualTo(1);
    }

    private static MergePass run(double[] all, int tokens, int hidden) {
        int size = tokens * hidden;
        return merge(Arrays.copyOfRange(all, 3 * size, 3 * size + hidden))
                .merge(
                        BACKEND.matrix(tokens, hidden, Arrays.copyOf(all, size)),
                        BACKEND.matrix(tokens, hidden, Arrays.copyOfRange(all, size, 2 * size)),
                        List.of(BACKEND.matrix(tokens, hidden, Arrays.copyOfRange(all, 2 * size, 3 * size))));
    }

    @Test
    void noTokensAreLegal() {
        Matrix none = BACKEND.buffer(0, 2);
        MergePass pass = merge(1, 2).merge(none, none, List.of(none));
        BranchGradients d = pass.backward(none);
        assertThat(pass.output().rows()).isZero();
        assertThat(d.tokens().orElseThrow().rows()).isZero();
        assertThat(d.parameters().get("gate").toArray()).containsExactly(0, 0);
    }

    @Test
    void gradientsAreTheCallers() {
        Matrix tokens = random(2, 2, 1);
        MergePass pass = merge(1, 2).merge(tokens, tokens, List.of(tokens));
        Matrix dOutput = random(2, 2, 2);
        BranchGradients d = pass.backward(dOutput);
        d.routed().close();
        assertThat(dOutput.toArray()).hasSize(4);
    }

    @Test
    void theGateGoesOutAndIn() {
        Matrix gate = BACKEND.matrix(1, 2, new double[] {1, 2});
        SigmoidGatedMerge merge = new SigmoidGatedMerge(gate);
        gate.close();
        merge.parameters().close();
        assertThat(merge.name()).isEqualTo("sigmoid-gated");
        assertThat(merge.parameters().get("gate").toArray()).containsExactly(1, 2);
        SigmoidGatedMerge changed =
                merge.withParameters(Parameters.of("gate", BACKEND.matrix(1, 2, new double[] {3, 4})));
        assertThat(changed.gate().toArray()).containsExactly(3, 4);
        merge.close();
        merge.close();
        assertThatThrownBy(merge::parameters).isInstanceOf(IllegalStateException.class);
        assertThat(changed.gate().get(0, 0)).isEqualTo(3);
    }

    @Test
    void randomGatesHaveTheStatedDeviation() {
        double[] gate = SigmoidGatedMerge.random(10_000, BACKEND, 3).gate().toArray();
        double squares = Arrays.stream(gate).map(v -> v * v).sum();
        assertThat(squares).isCloseTo(1, within(.05)); // 10,000 numbers of variance 1/10,000
    }

    @Test
    void fitsAnyRouterAndOneSharedExpert() {
        SigmoidGatedMerge merge = merge(1, 2, 3);
        PlainRouter any = new PlainRouter(2, 1, false, 2.5);
        Experts routed = SwiGluExperts.random(new ExpertShape(2, 3, 4), BACKEND, 1);
        Experts shared = SwiGluExperts.random(new ExpertShape(1, 3, 5), BACKEND, 1);
        Experts wide = SwiGluExperts.random(new ExpertShape(2, 4, 4), BACKEND, 1);
        assertThatCode(() -> merge.requireFits(any, routed, List.of(shared))).doesNotThrowAnyException();
        assertThatThrownBy(() -> merge.requireFits(any, routed, List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared: expected 1 shared expert (merge.convention = sigmoid-gated) but was 0");
        assertThatThrownBy(() -> merge.requireFits(any, routed, List.of(shared, shared)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared: expected 1 shared expert (merge.convention = sigmoid-gated) but was 2");
        assertThatThrownBy(() -> merge.requireFits(any, wide, List.of(shared)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gate: expected 4 columns (hidden size of the experts) but was 3");
    }

    @Test
    void badArgumentsAreRefused() {
        SigmoidGatedMerge merge = merge(1, 2);
        Matrix tokens = random(3, 2, 1);
        assertThatThrownBy(() -> merge.merge(random(3, 4, 1), tokens, List.of(tokens)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("tokens: expected 2 columns (hidden size of the gate) but was 4");
        assertThatThrownBy(() -> merge.merge(new ForeignMatrix(3, 2), tokens, List.of(tokens)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("tokens: expected a matrix of ReferenceBackend but was one of Foreign");
        assertThatThrownBy(() -> merge.merge(tokens, tokens, List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared: expected 1 shared expert (merge.convention = sigmoid-gated) but was 0");
        assertThatThrownBy(() -> merge.merge(tokens, tokens, List.of(random(2, 2, 1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shared[0]: expected 3 x 2 (shape of tokens) but was 2 x 2");
        MergePass pass = merge.merge(tokens, tokens, List.of(tokens));
        assertThatThrownBy(() -> pass.backward(random(2, 2, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("dOutput: expected 3 x 2 (shape of the output) but was 2 x 2");
        Matrix bad = BACKEND.matrix(3, 2, new double[] {0, 0, Double.NaN, 0, 0, 0});
        assertThatThrownBy(() -> merge.merge(bad, tokens, List.of(tokens)))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("merge gate: expected numbers but token 1 is NaN");
    }

    @Test
    void badGatesAreRefused() {
        assertThatThrownBy(() -> new SigmoidGatedMerge(BACKEND.buffer(2, 3)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gate: expected 1 row but was 2");
        assertThatThrownBy(() -> merge())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gate: expected at least 1 column (hidden size) but was 0");
        assertThatThrownBy(() -> SigmoidGatedMerge.random(0, BACKEND, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("hiddenSize: expected at least 1 but was 0");
        assertThatThrownBy(() -> merge(1, 2).withParameters(Parameters.of("gate", BACKEND.buffer(1, 3))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("gate: expected 1 x 2 (shape of the gate it replaces) but was 1 x 3");
        assertThatThrownBy(() -> merge(1, 2).withParameters(Parameters.none()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("parameters: expected a matrix named gate but was a set without it");
    }
}
