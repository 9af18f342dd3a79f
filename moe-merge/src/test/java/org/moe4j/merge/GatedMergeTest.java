package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MergePass.BranchGradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.merge.rewrite.SharedExpertCollapse;

class GatedMergeTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    /** T, D, n. */
    private record Sizes(int tokens, int hidden, int shared) {
        int branch() {
            return tokens * hidden;
        }
    }

    static Stream<Arguments> cases() {
        return Stream.of(SharedScore.values())
                .flatMap(score -> Stream.of(
                                new Sizes(1, 1, 1),
                                new Sizes(1, 5, 2),
                                new Sizes(4, 3, 1),
                                new Sizes(7, 2, 3),
                                new Sizes(2, 9, 5))
                        .map(sizes -> Arguments.of(score, sizes)));
    }

    private static Matrix random(int rows, int columns, long seed) {
        double[] values =
                new SplittableRandom(seed).doubles((long) rows * columns, -1, 1).toArray();
        return BACKEND.matrix(rows, columns, values);
    }

    private static List<Matrix> branches(Sizes sizes) {
        List<Matrix> branches = new ArrayList<>();
        for (int j = 0; j < sizes.shared(); j++) {
            branches.add(random(sizes.tokens(), sizes.hidden(), 100 + j));
        }
        return branches;
    }

    private static GatedMerge merge(SharedScore score, double... gate) {
        return new GatedMerge(BACKEND.matrix(1, gate.length, gate), score);
    }

    /** c_tj by its formula, from the numbers of gate and tokens. */
    private static double[] coefficients(SharedScore score, Matrix gate, Matrix tokens, int token) {
        double[] scores = new double[gate.rows()];
        for (int j = 0; j < scores.length; j++) {
            double z = 0;
            for (int i = 0; i < gate.columns(); i++) {
                z += gate.get(j, i) * tokens.get(token, i);
            }
            scores[j] = score == SharedScore.SOFTMAX ? Math.exp(z) : 1 / (1 + Math.exp(-z));
        }
        double sum = score == SharedScore.SIGMOID ? 1 : Arrays.stream(scores).sum();
        return Arrays.stream(scores).map(one -> one / sum).toArray();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void gatesEverySharedBranchTokenByToken(SharedScore score, Sizes sizes) {
        Matrix gate = random(sizes.shared(), sizes.hidden(), 1);
        Matrix tokens = random(sizes.tokens(), sizes.hidden(), 2);
        Matrix routed = random(sizes.tokens(), sizes.hidden(), 3);
        List<Matrix> shared = branches(sizes);
        MergePass pass = new GatedMerge(gate, score).merge(tokens, routed, shared);
        for (int t = 0; t < sizes.tokens(); t++) {
            double[] c = coefficients(score, gate, tokens, t);
            for (int i = 0; i < sizes.hidden(); i++) {
                double expected = routed.get(t, i);
                for (int j = 0; j < c.length; j++) {
                    expected += c[j] * shared.get(j).get(t, i);
                }
                assertThat(pass.output().get(t, i)).isCloseTo(expected, within(1e-14));
            }
            double sum = 0;
            for (int j = 0; j < c.length; j++) {
                assertThat(pass.sharedFactor(t, j)).isCloseTo(c[j], within(1e-15));
                sum += pass.sharedFactor(t, j);
            }
            if (score != SharedScore.SIGMOID) {
                assertThat(sum).isCloseTo(1, within(1e-15));
            }
            assertThat(pass.routedFactor(t)).isEqualTo(1);
        }
        assertThatThrownBy(() -> pass.sharedFactor(0, sizes.shared())).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> pass.sharedFactor(sizes.tokens(), 0)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> pass.routedFactor(sizes.tokens())).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void aWantedGateIsAddedAndAFrozenOneLeft(SharedScore score, Sizes sizes) {
        Matrix tokens = random(sizes.tokens(), sizes.hidden(), 2);
        Matrix gate = random(sizes.shared(), sizes.hidden(), 1);
        MergePass pass =
                new GatedMerge(gate, score).merge(tokens, random(sizes.tokens(), sizes.hidden(), 3), branches(sizes));
        BranchGradients all = pass.backward(tokens);
        Matrix buffer = BACKEND.buffer(sizes.shared(), sizes.hidden());
        Parameters into = Parameters.of("gate", buffer);
        BranchGradients frozen = pass.backward(tokens, Set.of(), into);
        assertThat(buffer.toArray()).containsOnly(0);
        assertThat(frozen.parameters().names()).isEmpty();
        assertThat(frozen.tokens().orElseThrow().toArray())
                .isEqualTo(all.tokens().orElseThrow().toArray());
        pass.backward(tokens, Set.of("gate"), into).close();
        pass.backward(tokens, Set.of("gate"), into).close();
        double[] once = all.parameters().get("gate").toArray();
        for (int i = 0; i < once.length; i++) {
            assertThat(buffer.toArray()[i]).isCloseTo(2 * once[i], within(1e-14));
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void agreesWithDifferences(SharedScore score, Sizes sizes) {
        int size = sizes.branch();
        int blocks = 2 + sizes.shared(); // tokens, routed, each shared; then the gate
        double[] all = new SplittableRandom(size * 31L + sizes.shared())
                .doubles((long) blocks * size + (long) sizes.shared() * sizes.hidden(), -1, 1)
                .toArray();
        Matrix dOutput = random(sizes.tokens(), sizes.hidden(), 10);
        BranchGradients d = run(score, all, sizes).backward(dOutput);
        double[] numeric = FiniteDifferences.gradient(
                at -> {
                    Matrix output = run(score, at, sizes).output();
                    return Arrays.stream(BACKEND.rowDots(output, dOutput)).sum();
                },
                all);
        double[] analytic = Stream.of(
                        Stream.of(d.tokens().orElseThrow(), d.routed()),
                        d.shared().stream(),
                        Stream.of(d.parameters().get("gate")))
                .flatMap(part -> part)
                .flatMapToDouble(matrix -> Arrays.stream(matrix.toArray()))
                .toArray();
        assertThat(d.parameters().names()).containsExactly("gate");
        assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(numeric)))
                .isLessThanOrEqualTo(1);
    }

    private static MergePass run(SharedScore score, double[] all, Sizes sizes) {
        int size = sizes.branch();
        List<Matrix> blocks = new ArrayList<>();
        for (int from = 0; from < (2 + sizes.shared()) * size; from += size) {
            blocks.add(BACKEND.matrix(sizes.tokens(), sizes.hidden(), Arrays.copyOfRange(all, from, from + size)));
        }
        double[] gate = Arrays.copyOfRange(all, (2 + sizes.shared()) * size, all.length);
        return new GatedMerge(BACKEND.matrix(sizes.shared(), sizes.hidden(), gate), score)
                .merge(blocks.get(0), blocks.get(1), blocks.subList(2, blocks.size()));
    }

    /** Equation 77: one gate common to all experts stays outside their sum, so that the wide expert takes it. */
    @Test
    void expertsOfOneGateAreTheWideExpertWithIt() {
        SplittableRandom random = new SplittableRandom(5);
        List<SwiGluWeights> experts = new ArrayList<>();
        for (int width : new int[] {4, 1, 6}) {
            experts.add(new SwiGluWeights(
                    random(width, 3, random.nextLong()),
                    random(width, 3, random.nextLong()),
                    random(3, width, random.nextLong())));
        }
        Matrix tokens = random(5, 3, 1);
        Matrix routed = random(5, 3, 2);
        Matrix dOutput = random(5, 3, 3);
        double[] row = {1.5, -2, .5};
        Matrix rows = BACKEND.matrix(3, 3, new double[] {1.5, -2, .5, 1.5, -2, .5, 1.5, -2, .5});
        MergePass apart = new GatedMerge(rows, SharedScore.SIGMOID)
                .merge(
                        tokens,
                        routed,
                        experts.stream().map(one -> output(one, tokens)).toList());
        MergePass wide = merge(SharedScore.SIGMOID, row)
                .merge(tokens, routed, List.of(output(SharedExpertCollapse.concatenate(experts), tokens)));
        assertThat(apart.output().toArray()).containsExactly(wide.output().toArray(), within(1e-14));
        BranchGradients dApart = apart.backward(dOutput);
        BranchGradients dWide = wide.backward(dOutput);
        assertThat(dApart.tokens().orElseThrow().toArray())
                .containsExactly(dWide.tokens().orElseThrow().toArray(), within(1e-14));
        double[] dRow = new double[3];
        for (int i = 0; i < 9; i++) {
            dRow[i % 3] += dApart.parameters().get("gate").get(i / 3, i % 3);
        }
        assertThat(dRow).containsExactly(dWide.parameters().get("gate").toArray(), within(1e-14));
        for (Matrix dShared : dApart.shared()) {
            assertThat(dShared.toArray()).containsExactly(dWide.shared().get(0).toArray());
        }
    }

    private static Matrix output(SwiGluWeights expert, Matrix tokens) {
        int[] rows = new int[tokens.rows()];
        Arrays.setAll(rows, t -> t);
        return SwiGluExperts.of(List.of(expert)).apply(tokens, rows, RowGroups.single(rows.length));
    }

    @Test
    void extremeGatesAreOpenOrShut() {
        Matrix tokens = BACKEND.matrix(3, 1, new double[] {1e4, -1e4, 0});
        Matrix ones = BACKEND.matrix(3, 1, new double[] {1, 1, 1});
        MergePass pass = merge(SharedScore.SIGMOID, 1).merge(tokens, ones, List.of(ones));
        assertThat(pass.output().toArray()).containsExactly(2, 1, 1.5);
        BranchGradients d = pass.backward(ones);
        assertThat(d.tokens().orElseThrow().toArray()).containsExactly(0, 0, .25);
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void noTokensAreLegal(SharedScore score) {
        Matrix none = BACKEND.buffer(0, 2);
        MergePass pass = new GatedMerge(random(3, 2, 1), score).merge(none, none, List.of(none, none, none));
        BranchGradients d = pass.backward(none);
        assertThat(pass.output().rows()).isZero();
        assertThat(d.tokens().orElseThrow().rows()).isZero();
        assertThat(d.shared()).hasSize(3);
        assertThat(d.parameters().get("gate").toArray()).containsExactly(0, 0, 0, 0, 0, 0);
    }

    @Test
    void gradientsAreTheCallers() {
        Matrix tokens = random(2, 2, 1);
        MergePass pass = merge(SharedScore.SIGMOID, 1, 2).merge(tokens, tokens, List.of(tokens));
        Matrix dOutput = random(2, 2, 2);
        BranchGradients d = pass.backward(dOutput);
        d.routed().close();
        assertThat(dOutput.toArray()).hasSize(4);
    }

    @ParameterizedTest
    @EnumSource(
            value = SharedScore.class,
            names = {"SOFTMAX", "NORMALIZED_SIGMOID"})
    void aRouterOverOneExpertIsAConstant(SharedScore score) {
        Matrix tokens = random(4, 3, 1);
        MergePass pass = merge(score, 1, -2, 3).merge(tokens, random(4, 3, 2), List.of(random(4, 3, 3)));
        assertThat(pass.sharedFactor(2, 0)).isEqualTo(1);
        BranchGradients d = pass.backward(random(4, 3, 4));
        assertThat(d.parameters().get("gate").toArray()).containsOnly(0);
    }

    @Test
    void aGateValueThatIsNoNumberIsNamed() {
        Matrix gate = BACKEND.matrix(2, 1, new double[] {0, 1});
        Matrix nan = BACKEND.matrix(3, 1, new double[] {0, 0, Double.NaN});
        Matrix infinite = BACKEND.matrix(3, 1, new double[] {0, Double.POSITIVE_INFINITY, 0});
        Matrix zero = BACKEND.buffer(3, 1);
        for (SharedScore score : SharedScore.values()) {
            assertThatThrownBy(() -> new GatedMerge(gate, score).merge(nan, zero, List.of(zero, zero)))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage("merge gate: expected " + (score == SharedScore.SIGMOID ? "" : "finite ")
                            + "numbers but token 2, shared expert 0 is NaN");
        }
        Matrix second = BACKEND.matrix(2, 1, new double[] {1, Double.NaN});
        assertThatThrownBy(() -> new GatedMerge(second, SharedScore.SOFTMAX).merge(zero, zero, List.of(zero, zero)))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("merge gate: expected finite numbers but token 0, shared expert 1 is NaN");
        Matrix ones = BACKEND.matrix(2, 1, new double[] {1, -1});
        for (SharedScore score : List.of(SharedScore.SOFTMAX, SharedScore.NORMALIZED_SIGMOID)) {
            assertThatThrownBy(() -> new GatedMerge(ones, score).merge(infinite, zero, List.of(zero, zero)))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage("merge gate: expected finite numbers but token 1, shared expert 0 is Infinity");
        }
        MergePass pass = new GatedMerge(ones, SharedScore.SIGMOID).merge(infinite, zero, List.of(zero, zero));
        assertThat(pass.sharedFactor(1, 0)).isEqualTo(1);
        assertThat(pass.sharedFactor(1, 1)).isZero();
    }
}
