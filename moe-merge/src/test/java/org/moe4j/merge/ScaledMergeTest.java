package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MergePass.BranchGradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.standin.ForeignMatrix;

class ScaledMergeTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final ActiveWidths STUDY = new ActiveWidths(4, 2560, 1280);

    private static Matrix random(int rows, int columns, long seed) {
        double[] values =
                new SplittableRandom(seed).doubles((long) rows * columns, -1, 1).toArray();
        return BACKEND.matrix(rows, columns, values);
    }

    static Stream<Arguments> conventions() {
        return Stream.of(
                Arguments.of(ScaledMerge.olmo(STUDY), "olmo", 4.0, 1.0),
                Arguments.of(ScaledMerge.routedUnitSum(STUDY), "routed-unit-sum", 1.0, 1.0),
                Arguments.of(ScaledMerge.equalBranchMass(STUDY), "equal-branch-mass", .5, .5),
                Arguments.of(ScaledMerge.widthProportional(STUDY), "width-proportional", 8 / 9.0, 1 / 9.0),
                Arguments.of(ScaledMerge.activeMean(4), "active-mean", .8, .2),
                Arguments.of(ScaledMerge.sum(), "sum", 1.0, 1.0),
                Arguments.of(ScaledMerge.scaled(2.5, .5), "scaled(2.5, 0.5)", 2.5, .5));
    }

    static Stream<ScaledMerge> merges() {
        return conventions().map(arguments -> (ScaledMerge) arguments.get()[0]);
    }

    static Stream<ScaledMerge> table37() {
        return merges().filter(merge -> merge.presumption() instanceof Presumption.UnitSum);
    }

    @ParameterizedTest
    @MethodSource("merges")
    void conventionsOfTable37WeighOutputsOnly(ScaledMerge merge) {
        merge.requirePlace(WeightPlace.OUTPUT);
        if (merge.presumption() instanceof Presumption.UnitSum) {
            assertThatThrownBy(() -> merge.requirePlace(WeightPlace.INPUT))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(
                            "merge: expected a convention for weights on the input (experts.weightPlace = input) but was"
                                    + " merge.convention = " + merge.name()
                                    + "; choose merge.convention = sum, or experts.weightPlace = output");
        } else {
            merge.requirePlace(WeightPlace.INPUT);
        }
    }

    @ParameterizedTest
    @MethodSource("conventions")
    void hasTheFactorsOfItsDefinition(ScaledMerge merge, String name, double routed, double shared) {
        assertThat(merge.name()).isEqualTo(name);
        assertThat(merge.routedScale()).isCloseTo(routed, within(1e-16));
        assertThat(merge.sharedScale()).isCloseTo(shared, within(1e-16));
    }

    @Nested
    class Forward {
        static Stream<ScaledMerge> merges() {
            return ScaledMergeTest.merges();
        }

        @ParameterizedTest
        @MethodSource("merges")
        void isTheWeightedSumOfTheBranches(ScaledMerge merge) {
            for (int branches = 0; branches < 4; branches++) {
                Matrix routed = random(5, 3, 1);
                List<Matrix> shared = Stream.of(2, 3, 4)
                        .limit(branches)
                        .map(seed -> random(5, 3, seed))
                        .toList();
                MergePass pass = merge.merge(random(5, 3, 9), routed, shared);
                for (int t = 0; t < 5; t++) {
                    for (int c = 0; c < 3; c++) {
                        double expected = merge.routedScale() * routed.get(t, c);
                        for (Matrix one : shared) {
                            expected += merge.sharedScale() * one.get(t, c);
                        }
                        assertThat(pass.output().get(t, c)).isCloseTo(expected, within(1e-15));
                    }
                    assertThat(pass.routedFactor(t)).isEqualTo(merge.routedScale());
                }
            }
        }

        @ParameterizedTest
        @MethodSource("merges")
        void theOutputIsTheCallersAndTheArgumentsAreNot(ScaledMerge merge) {
            Matrix routed = random(2, 3, 1);
            MergePass pass = merge.merge(random(2, 3, 9), routed, List.of());
            pass.output().close();
            assertThat(routed.toArray()).hasSize(6);
            Matrix second = merge.merge(random(2, 3, 9), routed, List.of()).output();
            routed.close();
            assertThat(second.toArray()).hasSize(6);
        }

        @ParameterizedTest
        @MethodSource("merges")
        void noTokensAreLegal(ScaledMerge merge) {
            Matrix none = BACKEND.buffer(0, 3);
            MergePass pass = merge.merge(none, none, List.of(none));
            assertThat(pass.output().rows()).isZero();
            BranchGradients d = pass.backward(none);
            assertThat(d.routed().rows()).isZero();
            assertThat(d.shared().get(0).columns()).isEqualTo(3);
        }

        @ParameterizedTest
        @ValueSource(ints = {1, 2, 4, 8})
        void theActiveMeanDividesByTheActiveExperts(int topK) {
            Matrix routed = random(5, 3, 1);
            Matrix shared = random(5, 3, 2);
            Matrix tokens = random(5, 3, 3);
            Matrix output = ScaledMerge.activeMean(topK)
                    .merge(tokens, routed, List.of(shared))
                    .output();
            for (int t = 0; t < 5; t++) {
                for (int c = 0; c < 3; c++) {
                    double mean = (topK * routed.get(t, c) + shared.get(t, c)) / (topK + 1);
                    assertThat(output.get(t, c)).isCloseTo(mean, within(1e-15));
                }
            }
            ScaledMerge same = ScaledMerge.scaled(topK / (topK + 1.0), 1 / (topK + 1.0));
            assertThat(output.toArray())
                    .containsExactly(
                            same.merge(tokens, routed, List.of(shared)).output().toArray());
        }

        @Test
        void knowsItsFactors() {
            MergePass pass = ScaledMerge.olmo(STUDY).merge(random(2, 3, 1), random(2, 3, 2), List.of(random(2, 3, 3)));
            assertThat(pass.routedFactor(1)).isEqualTo(4);
            assertThat(pass.sharedFactor(1, 0)).isEqualTo(1);
            assertThatThrownBy(() -> pass.routedFactor(2)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> pass.sharedFactor(2, 0)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> pass.sharedFactor(0, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Nested
    class Backward {
        static Stream<ScaledMerge> merges() {
            return ScaledMergeTest.merges();
        }

        @ParameterizedTest
        @MethodSource("merges")
        void agreesWithDifferences(ScaledMerge merge) {
            Matrix tokens = random(3, 2, 9);
            Matrix dOutput = random(3, 2, 10);
            double[] both = new SplittableRandom(1).doubles(18, -1, 1).toArray(); // routed, shared 0, shared 1
            BranchGradients d = run(merge, tokens, both).backward(dOutput);
            double[] numeric = FiniteDifferences.gradient(
                    at -> {
                        double sum = 0;
                        for (double dot : BACKEND.rowDots(run(merge, tokens, at).output(), dOutput)) {
                            sum += dot;
                        }
                        return sum;
                    },
                    both);
            double[] analytic = Stream.of(
                            d.routed(), d.shared().get(0), d.shared().get(1))
                    .flatMapToDouble(matrix -> Arrays.stream(matrix.toArray()))
                    .toArray();
            assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(numeric)))
                    .isLessThanOrEqualTo(1);
            assertThat(d.tokens()).isEmpty();
            assertThat(d.parameters().names()).isEmpty();
        }

        private MergePass run(ScaledMerge merge, Matrix tokens, double[] branches) {
            Matrix all = BACKEND.matrix(9, 2, branches);
            return merge.merge(
                    tokens,
                    BACKEND.gatherRows(all, new int[] {0, 1, 2}),
                    List.of(BACKEND.gatherRows(all, new int[] {3, 4, 5}), BACKEND.gatherRows(all, new int[] {6, 7, 8
                    })));
        }

        @ParameterizedTest
        @MethodSource("merges")
        void readsNoArgumentAgainAndGivesHandlesOfTheCaller(ScaledMerge merge) {
            Matrix tokens = random(2, 3, 1);
            Matrix routed = random(2, 3, 2);
            Matrix shared = random(2, 3, 3);
            MergePass pass = merge.merge(tokens, routed, List.of(shared, shared));
            tokens.close();
            routed.close();
            shared.close();
            pass.output().close();
            Matrix dOutput = random(2, 3, 4);
            BranchGradients d = pass.backward(dOutput);
            d.routed().close();
            d.shared().get(0).close();
            assertThat(dOutput.get(1, 2) * merge.sharedScale())
                    .isEqualTo(d.shared().get(1).get(1, 2));
            dOutput.close();
            assertThat(d.shared().get(1).toArray()).hasSize(6);
        }
    }

    @Nested
    class Errors {
        private final Matrix tokens = random(2, 3, 1);

        @Test
        void branchesOfAnotherShapeAreRefused() {
            assertThatThrownBy(() -> ScaledMerge.sum().merge(tokens, random(2, 4, 1), List.of()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("routed: expected 2 x 3 (shape of tokens) but was 2 x 4");
            assertThatThrownBy(() -> ScaledMerge.sum().merge(tokens, tokens, List.of(tokens, random(1, 3, 1))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("shared[1]: expected 2 x 3 (shape of tokens) but was 1 x 3");
        }

        @Test
        void foreignBranchesAreRefused() {
            Matrix foreign = new ForeignMatrix(2, 3);
            String was =
                    ": expected a matrix of ReferenceBackend but was one of Foreign; convert it with backend.copyOf(";
            assertThatThrownBy(() -> ScaledMerge.sum().merge(tokens, foreign, List.of()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("routed" + was + "routed)");
            assertThatThrownBy(() -> ScaledMerge.sum().merge(tokens, tokens, List.of(foreign)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("shared[0]" + was + "shared[0])");
        }

        @Test
        void aGradientOfAnotherShapeIsRefused() {
            MergePass pass = ScaledMerge.sum().merge(tokens, tokens, List.of(tokens));
            assertThatThrownBy(() -> pass.backward(random(3, 3, 1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("dOutput: expected 2 x 3 (shape of the output) but was 3 x 3");
            assertThatThrownBy(() -> pass.backward(new ForeignMatrix(2, 3)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("dOutput: expected a matrix of ReferenceBackend");
        }

        @Test
        void badFactorsAreRefused() {
            assertThatThrownBy(() -> ScaledMerge.scaled(Double.NaN, 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("routedScale: expected a finite number but was NaN");
            assertThatThrownBy(() -> ScaledMerge.scaled(1, Double.POSITIVE_INFINITY))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("sharedScale: expected a finite number but was Infinity");
            assertThatThrownBy(() -> ScaledMerge.activeMean(0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("topK: expected at least 1 but was 0");
            assertThatThrownBy(() -> new ScaledMerge(" ", 1, 1, new Presumption.Nothing()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("name: expected a name but was \" \"");
        }

        @Test
        void thereAreNoParametersToChange() {
            assertThat(ScaledMerge.sum().parameters().names()).isEmpty();
            assertThat(ScaledMerge.sum().withParameters(Parameters.none())).isEqualTo(ScaledMerge.sum());
            assertThatThrownBy(() -> ScaledMerge.sum().withParameters(Parameters.of("gate", tokens)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("parameters: expected only the names [] but was gate");
        }
    }
}
