package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.merge.rewrite.DrawnParts.BACKEND;
import static org.moe4j.merge.rewrite.DrawnParts.assertSameBits;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.Silu;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MergePass.BranchGradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.SharedScore;

/** Shared experts as banks of one, and what merges do with them. */
class SharedBanksTest {
    static LongStream seeds() {
        return Cases.seeds();
    }

    private static List<FeedForwardExperts> banks(DrawnParts drawn) {
        return drawn.experts().stream()
                .map(expert -> FeedForwardExperts.of(drawn.activation(), List.of(expert)))
                .toList();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void banksBecomeOneAndPartsAgain(long seed) {
        DrawnParts drawn = DrawnParts.of(seed);
        List<FeedForwardExperts> banks = banks(drawn);
        Partition partition = drawn.partition();
        FeedForwardExperts wide = SharedExpertCollapse.concatenateBanks(banks);
        banks.forEach(FeedForwardExperts::close);
        assertThat(wide.shape()).isEqualTo(partition.wide());
        assertSameBits("wide", wide.expert(0), partition.concatenate(drawn.experts()));
        int[] widths = partition.widths().stream().mapToInt(width -> width).toArray();
        List<FeedForwardExperts> again = SharedExpertCollapse.splitBank(wide, widths);
        List<Parameters> parts = partition.split(wide.expert(0));
        wide.close();
        assertThat(again).hasSameSizeAs(banks);
        for (int j = 0; j < widths.length; j++) {
            assertThat(again.get(j).shape()).isEqualTo(partition.part(j));
            assertSameBits("part " + j, again.get(j).expert(0), parts.get(j));
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void coefficientsOfBanksAreAbsorbed(long seed) {
        DrawnParts drawn = DrawnParts.of(seed);
        double[] c = new Cases(~seed).doubles(drawn.experts().size());
        List<DownScale> scales = new ArrayList<>();
        for (double one : c) {
            scales.add(new DownScale(one));
        }
        FeedForwardExperts wide = SharedExpertCollapse.concatenateBanks(banks(drawn), scales);
        Tolerance.assertWithinMaxNorm("seed " + seed, drawn.output(wide.expert(0)), drawn.defined(c), 1e-13);
    }

    /**
     * Equation 77: one gate common to all experts stays outside their sum. Every expert gets the gradient a(x) · dY of its
     * output then, as the wide one does, so that gradients of weights are slices of one another as without a gate.
     */
    @ParameterizedTest
    @MethodSource("seeds")
    void aCommonGateStaysOutside(long seed) {
        DrawnParts drawn = DrawnParts.of(seed);
        Cases cases = new Cases(~seed);
        Matrix row = cases.matrix(BACKEND, 1, drawn.tokens().columns());
        Matrix routed =
                cases.matrix(BACKEND, drawn.tokens().rows(), drawn.tokens().columns());
        int n = drawn.experts().size();
        Matrix rows = BACKEND.gatherRows(row, new int[n]);
        List<Matrix> outputs = drawn.experts().stream()
                .map(expert -> BACKEND.matrix(routed.rows(), routed.columns(), drawn.output(expert)))
                .toList();
        Parameters wide = drawn.partition().concatenate(drawn.experts());
        Matrix output = BACKEND.matrix(routed.rows(), routed.columns(), drawn.output(wide));
        MergePass apart = new GatedMerge(rows, SharedScore.SIGMOID).merge(drawn.tokens(), routed, outputs);
        MergePass one = new GatedMerge(row, SharedScore.SIGMOID).merge(drawn.tokens(), routed, List.of(output));
        Tolerance.assertWithinMaxNorm(
                "output", apart.output().toArray(), one.output().toArray(), 1e-13);
        BranchGradients dApart = apart.backward(drawn.dOutput());
        BranchGradients dOne = one.backward(drawn.dOutput());
        List<Parameters> ofParts = new ArrayList<>();
        for (int j = 0; j < n; j++) {
            assertSameBits("dShared", dApart.shared().get(j), dOne.shared().get(0));
            ofParts.add(drawn.gradients(drawn.experts().get(j), dApart.shared().get(j))
                    .parameters());
        }
        assertSameBits(
                "weights",
                drawn.partition().concatenateGradients(ofParts),
                drawn.gradients(wide, dOne.shared().get(0)).parameters());
        Matrix dRows = dApart.parameters().get("gate");
        Tolerance.assertWithinMaxNorm(
                "gate",
                BACKEND.matmulTransA(ones(n), dRows).toArray(),
                dOne.parameters().get("gate").toArray(),
                1e-13);
    }

    private static Matrix ones(int n) {
        double[] values = new double[n];
        Arrays.fill(values, 1);
        return BACKEND.matrix(n, 1, values);
    }

    private static void assertRefused(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
    }

    private static Experts bank(int count, int hidden, Activation activation, boolean biases) {
        return FeedForwardExperts.random(new ExpertShape(count, hidden, 3, activation, biases), BACKEND, 1);
    }

    private static void assertRefused(Experts other, String message) {
        assertRefused(
                () -> SharedExpertCollapse.concatenateBanks(List.of(bank(1, 2, new Relu(), false), other)),
                "banks[1]: expected " + message);
    }

    @Test
    void banksThatAreNotOneExpertAreRefused() {
        assertRefused(
                () -> SharedExpertCollapse.concatenateBanks(List.of()),
                "banks: expected at least 1 bank but was an empty list");
        assertRefused(bank(4, 2, new Relu(), false), "1 expert (of a shared bank) but was 4");
        assertRefused(
                bank(1, 2, new Silu(), false),
                "Relu[] (activation of banks[0]) but was Silu[]; units of two activations are not one expert");
        assertRefused(
                SwiGluExperts.random(new ExpertShape(1, 2, 3), BACKEND, 1),
                "Relu[] (activation of banks[0]) but was SwiGlu[]; units of two activations are not one expert");
        assertRefused(
                bank(1, 2, new Relu(), true),
                "no biases (as in banks[0]) but was an expert with them; "
                        + "an expert with biases of 0 is the same function");
        assertRefused(
                () -> SharedExpertCollapse.concatenateBanks(
                        List.of(bank(1, 2, new Relu(), true), bank(1, 2, new Relu(), false))),
                "banks[1]: expected biases (as in banks[0]) but was an expert without them; "
                        + "an expert with biases of 0 is the same function");
        assertRefused(bank(1, 5, new Relu(), false), "2 as hidden size (of banks[0]) but was 5");
        assertRefused(
                () -> SharedExpertCollapse.splitBank(bank(4, 2, new Relu(), false), 1, 2),
                "wide: expected 1 expert (of a shared bank) but was 4");
        assertRefused(
                () -> SharedExpertCollapse.splitBank(bank(1, 2, new Relu(), false), 1, 1),
                "widths: expected 3 in all (intermediate size) but was 2");
    }

    @Test
    void coefficientsThatDoNotFitAreRefused() {
        Parameters large = Parameters.of("up", BACKEND.matrix(1, 1, new double[1]))
                .and(Parameters.of("down", BACKEND.matrix(1, 1, new double[] {2})));
        Experts bank = FeedForwardExperts.of(new Relu(), List.of(large));
        List<Experts> banks = List.of(bank, bank);
        assertRefused(
                () -> SharedExpertCollapse.concatenateBanks(banks, List.of(new DownScale(1))),
                "coefficients: expected 2 (one per bank) but was 1");
        assertRefused(
                () -> SharedExpertCollapse.concatenateBanks(banks, List.of(new DownScale(1), new DownScale(1e308))),
                "banks[1].down: expected numbers that stay finite times 1.0E308 but was 2.0 in row 0, column 0");
    }
}
