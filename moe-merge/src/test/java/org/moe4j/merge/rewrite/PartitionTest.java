package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.moe4j.merge.rewrite.DrawnParts.BACKEND;
import static org.moe4j.merge.rewrite.DrawnParts.assertSameBits;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.PlainActivations;
import org.moe4j.core.testing.Tolerance;

class PartitionTest {
    static LongStream hundreds() {
        return DrawnParts.hundreds();
    }

    private static double[] defined(DrawnParts drawn) {
        double[] ones = new double[drawn.experts().size()];
        Arrays.fill(ones, 1);
        return drawn.defined(ones);
    }

    @ParameterizedTest
    @MethodSource("hundreds")
    void theWideExpertIsTheSumOfItsParts(long hundred) {
        for (long seed : DrawnParts.seeds(hundred)) {
            DrawnParts drawn = DrawnParts.of(seed);
            double[] wide = drawn.output(drawn.partition().concatenate(drawn.experts()));
            Tolerance.assertWithinMaxNorm("seed " + seed, wide, defined(drawn), 1e-13);
            Tolerance.assertWithinMaxNorm(
                    "seed " + seed,
                    wide,
                    DrawnParts.sum(drawn.experts().stream().map(drawn::output).toList()),
                    1e-13);
        }
    }

    @ParameterizedTest
    @MethodSource("hundreds")
    void aWideExpertIsTheSumOfAnyParts(long hundred) {
        for (long seed : DrawnParts.seeds(hundred)) {
            DrawnParts drawn = DrawnParts.of(seed);
            Parameters wide = drawn.experts().get(0);
            List<Parameters> parts = anyPartition(drawn, seed).split(wide);
            Tolerance.assertWithinMaxNorm(
                    "seed " + seed,
                    DrawnParts.sum(parts.stream().map(drawn::output).toList()),
                    drawn.output(wide),
                    1e-13);
        }
    }

    private static Partition anyPartition(DrawnParts drawn, long seed) {
        Cases cases = new Cases(~seed);
        Matrix up = drawn.experts().get(0).get("up");
        List<Integer> widths = new ArrayList<>();
        for (int left = up.rows(); left > 0; left -= widths.get(widths.size() - 1)) {
            widths.add(1 + cases.below(left));
        }
        return new Partition(drawn.activation(), drawn.biases(), up.columns(), widths);
    }

    @ParameterizedTest
    @MethodSource("hundreds")
    void gradientsAreSlicesOfOneAnotherToTheBit(long hundred) {
        for (long seed : DrawnParts.seeds(hundred)) {
            DrawnParts drawn = DrawnParts.of(seed);
            Partition partition = drawn.partition();
            Gradients wide = drawn.gradients(partition.concatenate(drawn.experts()));
            List<Gradients> parts =
                    drawn.experts().stream().map(drawn::gradients).toList();
            List<Parameters> ofParts = parts.stream().map(Gradients::parameters).toList();
            assertSameBits("seed " + seed, partition.concatenateGradients(ofParts), wide.parameters());
            List<Parameters> split = partition.splitGradients(wide.parameters());
            assertThat(split).hasSameSizeAs(ofParts);
            for (int j = 0; j < split.size(); j++) {
                assertSameBits("seed " + seed + " part " + j, split.get(j), ofParts.get(j));
            }
            Tolerance.assertWithinMaxNorm(
                    "seed " + seed + " dX",
                    wide.input().toArray(),
                    DrawnParts.sum(
                            parts.stream().map(part -> part.input().toArray()).toList()),
                    1e-13);
        }
    }

    @ParameterizedTest
    @MethodSource("hundreds")
    void weightsComeBackWithTheirBits(long hundred) {
        for (long seed : DrawnParts.seeds(hundred)) {
            DrawnParts drawn = DrawnParts.of(seed);
            Partition partition = drawn.partition();
            Parameters wide = partition.concatenate(drawn.experts());
            List<Parameters> again = partition.split(wide);
            assertThat(again).hasSameSizeAs(drawn.experts());
            for (int j = 0; j < again.size(); j++) {
                String what = "seed " + seed + " part " + j;
                for (String name : again.get(j).names()) {
                    if (!name.equals("downBias")) {
                        assertSameBits(
                                what + name,
                                again.get(j).get(name),
                                drawn.experts().get(j).get(name));
                    } else if (j > 0) {
                        assertThat(again.get(j).get(name).toArray()).as(what).containsOnly(0.0);
                    }
                }
            }
            assertSameBits("seed " + seed, partition.concatenate(again), wide);
        }
    }

    @Test
    void allKindsOfExpertsAreDrawn() {
        List<DrawnParts> drawn =
                LongStream.range(0, 1000).mapToObj(DrawnParts::of).toList();
        for (Activation activation : PlainActivations.ALL) {
            for (boolean biases : new boolean[] {false, true}) {
                assertThat(drawn)
                        .filteredOn(one -> one.activation().equals(activation) && one.biases() == biases)
                        .hasSizeGreaterThan(30);
            }
        }
        assertThat(drawn)
                .anyMatch(one -> one.experts().size() == 1)
                .anyMatch(one -> one.tokens().columns() == 1);
    }

    private static Matrix row(double... values) {
        return BACKEND.matrix(1, values.length, values);
    }

    private static Parameters named(String name, Matrix value) {
        return Parameters.of(name, value);
    }

    @Test
    void theLayoutIsThatOfEquation75WithBiasesSideBySide() {
        Parameters first = named("up", row(1, 2))
                .and(named("down", BACKEND.matrix(2, 1, new double[] {3, 4})))
                .and(named("upBias", row(5)))
                .and(named("downBias", row(6, 7)));
        Parameters second = named("up", BACKEND.matrix(2, 2, new double[] {8, 9, 10, 11}))
                .and(named("down", BACKEND.matrix(2, 2, new double[] {12, 13, 14, 15})))
                .and(named("upBias", row(16, 17)))
                .and(named("downBias", row(18, 19)));
        List<Parameters> experts = List.of(first, second);
        Parameters wide = Partition.of(new Relu(), experts).concatenate(experts);
        assertThat(wide.names()).containsExactly("up", "down", "upBias", "downBias");
        assertThat(wide.get("up").toArray()).containsExactly(1, 2, 8, 9, 10, 11);
        assertThat(wide.get("down").toArray()).containsExactly(3, 12, 13, 4, 14, 15);
        assertThat(wide.get("upBias").toArray()).containsExactly(5, 16, 17);
        assertThat(wide.get("downBias").toArray()).containsExactly(24, 26);
    }

    @Test
    void everyPartHasTheGradientOfTheWideDownBias() {
        Partition partition = new Partition(new Relu(), true, 2, List.of(1, 1, 1));
        Parameters wide = named("up", BACKEND.matrix(3, 2, new double[6]))
                .and(named("down", BACKEND.matrix(2, 3, new double[6])))
                .and(named("upBias", row(1, 2, 3)))
                .and(named("downBias", row(8, 9)));
        List<Parameters> parts = partition.splitGradients(wide);
        for (int j = 0; j < 3; j++) {
            assertThat(parts.get(j).get("upBias").toArray()).containsExactly(j + 1);
            assertThat(parts.get(j).get("downBias").toArray()).containsExactly(8, 9);
        }
        assertSameBits("again", partition.concatenateGradients(parts), wide);
    }

    @Test
    void theDownBiasOfOnePartCanBeAskedFor() {
        Partition partition = new Partition(new Relu(), true, 1, List.of(1, 1));
        List<Parameters> gradients = new ArrayList<>();
        for (double bias : new double[] {1, 2}) {
            gradients.add(named("up", row(3))
                    .and(named("down", row(4)))
                    .and(named("upBias", row(5)))
                    .and(named("downBias", row(bias))));
        }
        assertThat(partition.concatenateGradients(gradients, 0).get("downBias").toArray())
                .containsExactly(1);
        assertThat(partition.concatenateGradients(gradients, 1).get("downBias").toArray())
                .containsExactly(2);
    }

    @Test
    void zerosAddNothingSoThatNegativeZerosStay() {
        Partition partition = new Partition(new Relu(), true, 4, List.of(2, 1));
        Parameters wide = named("up", BACKEND.matrix(3, 4, new double[12]))
                .and(named("down", BACKEND.matrix(4, 3, new double[12])))
                .and(named("upBias", row(-0.0, 0, -0.0)))
                .and(named("downBias", row(-0.0, 0, Double.POSITIVE_INFINITY, Double.MIN_VALUE)));
        assertSameBits("again", partition.concatenate(partition.split(wide)), wide);
    }

    @Test
    void resultsAreOwnMemory() {
        Partition partition = new Partition(new SwiGlu(), false, 2, List.of(1));
        Matrix buffer = BACKEND.buffer(1, 2);
        Parameters wide = named("gate", buffer).and(named("up", buffer)).and(named("down", BACKEND.buffer(2, 1)));
        List<Parameters> parts = partition.splitGradients(wide);
        Parameters again = partition.concatenateGradients(parts);
        BACKEND.accumulate(0, buffer, 0, row(1, 2));
        wide.close();
        assertThat(parts.get(0).get("up").toArray()).containsExactly(0, 0);
        parts.get(0).close();
        assertThat(again.get("gate").toArray()).containsExactly(0, 0);
    }

    @Test
    void shapesOfWholeAndParts() {
        ExpertShape wide = new ExpertShape(64, 3, 6, new Relu(), true);
        Partition even = Partition.even(wide, 3);
        assertThat(even).isEqualTo(new Partition(new Relu(), true, 3, List.of(2, 2, 2)));
        assertThat(even.wide()).isEqualTo(new ExpertShape(1, 3, 6, new Relu(), true));
        assertThat(even.part(1)).isEqualTo(new ExpertShape(1, 3, 2, new Relu(), true));
        assertThat(Partition.of(wide, 1, 5).widths()).containsExactly(1, 5);
    }
}
