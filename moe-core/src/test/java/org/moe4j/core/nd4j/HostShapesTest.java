package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankPass.BankGradients;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.Tolerance;

/** Shapes that take every way through the products of the host strategy, and the bits that must not depend on workers. */
class HostShapesTest {
    private static final Backend REFERENCE = ReferenceBackend.instance();

    @SuppressWarnings("ArrayRecordComponent") // test data
    private record Run(Backend backend, Bank bank, Matrix tokens, int[] rows, RowGroups groups, Matrix dOutput) {
        static Run of(Backend backend, int hidden, int intermediate, int... sizes) {
            return of(backend, new Activation.SwiGlu(), false, hidden, intermediate, sizes);
        }

        static Run of(
                Backend backend, Activation activation, boolean biases, int hidden, int intermediate, int... sizes) {
            Cases cases = new Cases(hidden + 31L * intermediate);
            RowGroups groups = RowGroups.ofSizes(sizes);
            int[] rows = cases.indices(groups.rows(), 50);
            Matrix tokens = cases.matrix(backend, 50, hidden);
            Matrix dOutput = cases.matrix(backend, groups.rows(), hidden);
            Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
            for (int e = 0; e < sizes.length; e++) {
                BankPart.of(activation, biases)
                        .forEach(part -> parts.computeIfAbsent(part, key -> new ArrayList<>())
                                .add(cases.matrix(
                                        backend, part.rows(hidden, intermediate), part.columns(hidden, intermediate))));
            }
            return new Run(backend, backend.prepare(new BankWeights(activation, parts)), tokens, rows, groups, dOutput);
        }

        List<double[]> results() {
            List<double[]> results = new ArrayList<>();
            try (BankPass pass = bank.forward(tokens, rows, groups);
                    Matrix applied = bank.apply(tokens, rows, groups)) {
                BankGradients gradients = pass.backward(dOutput);
                results.add(pass.output().toArray());
                results.add(applied.toArray());
                results.add(gradients.input().toArray());
                gradients.parts().values().forEach(matrices -> matrices.forEach(m -> results.add(m.toArray())));
            }
            return results;
        }
    }

    /** Few and many rows; one block of columns and several; blocks of fewer columns than 512; more rows than a tile. */
    @ParameterizedTest
    @CsvSource({
        "520, 530, 1, 2, 15, 0",
        "530, 600, 16, 0, 31, 32",
        "8070, 5, 31, 1, 0, 17",
        "6, 8070, 31, 2, 0, 16",
        "40, 1100, 7, 33, 0, 1",
        "1030, 20, 5, 64, 1, 40",
        "1100, 40, 8, 9, 16, 17",
        "70, 1100, 33, 95, 8, 100",
        "9, 12, 1030, 1, 2050, 15"
    })
    void everyWayThroughTheProductsAgrees(int hidden, int intermediate, int a, int b, int c, int d) {
        List<double[]> expected =
                Run.of(REFERENCE, hidden, intermediate, a, b, c, d).results();
        for (Precision precision : Precision.values()) {
            Backend backend = Nd4jBackend.of(precision, Strategy.HOST);
            List<double[]> actual =
                    Run.of(backend, hidden, intermediate, a, b, c, d).results();
            double rows = Math.sqrt(a + b + c + d); // gradients of weights sum over rows, too
            double tolerance = Tolerance.layer(hidden, intermediate, backend.unitRoundoff()) * rows;
            for (int i = 0; i < expected.size(); i++) {
                Tolerance.assertWithinMaxNorm(precision + " result " + i, actual.get(i), expected.get(i), tolerance);
            }
        }
    }

    /** The same ways with biases, gated and not. */
    @ParameterizedTest
    @CsvSource({"520, 530, 1, 2, 15, 0", "8070, 5, 31, 1, 0, 17", "40, 1100, 7, 33, 0, 1", "9, 12, 1030, 1, 2050, 15"})
    void everyWayAgreesWithBiases(int hidden, int intermediate, int a, int b, int c, int d) {
        for (Activation activation : List.of(new Activation.ClampedSwiGlu(1.702, 7, 1), new Activation.GeluTanh())) {
            List<double[]> expected = Run.of(REFERENCE, activation, true, hidden, intermediate, a, b, c, d)
                    .results();
            for (Precision precision : Precision.values()) {
                Backend backend = Nd4jBackend.of(precision, Strategy.HOST);
                List<double[]> actual = Run.of(backend, activation, true, hidden, intermediate, a, b, c, d)
                        .results();
                double rows = Math.sqrt(a + b + c + d); // gradients of weights sum over rows, too
                double tolerance = Tolerance.layer(hidden, intermediate, backend.unitRoundoff()) * rows;
                for (int i = 0; i < expected.size(); i++) {
                    String what = activation + ", " + precision + " result " + i;
                    Tolerance.assertWithinMaxNorm(what, actual.get(i), expected.get(i), tolerance);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Precision.class)
    void bitsDependOnNothingButTheArguments(Precision precision) {
        Nd4jBackend backend = Nd4jBackend.of(precision, Strategy.HOST);
        List<double[]> once =
                Run.of(backend.withWorkers(1), 300, 600, 70, 0, 9, 130).results();
        for (int workers : new int[] {1, 2, 4, 2, 4}) {
            List<double[]> again = Run.of(backend.withWorkers(workers), 300, 600, 70, 0, 9, 130)
                    .results();
            for (int i = 0; i < once.size(); i++) {
                assertThat(Arrays.equals(again.get(i), once.get(i)))
                        .as("result %d, %d workers", i, workers)
                        .isTrue();
            }
        }
    }

    @Test
    void applyInWavesAgreesWithOneRun() {
        Nd4jBackend backend = Nd4jBackend.float32();
        Run run = Run.of(backend, 30, 20, 40, 0, 3, 25);
        HostKernels kernels = new HostKernels(backend, new FloatElements(), new FloatBlas(), new Workers(2));
        Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
        for (BankPart part : BankPart.of(new Activation.SwiGlu(), false)) {
            parts.put(
                    part,
                    IntStream.range(0, 4)
                            .mapToObj(e -> run.bank().weight(part, e))
                            .toList());
        }
        BankWeights weights = new BankWeights(new Activation.SwiGlu(), parts);
        double[] expected = run.results().get(0);
        for (int waveElements : new int[] {1, 60, 700}) { // 1, 1 and 13 of the 68 rows
            try (Bank waves = new HostBank(kernels, weights, waveElements)) {
                double[] actual =
                        waves.apply(run.tokens(), run.rows(), run.groups()).toArray();
                double tolerance = Tolerance.layer(30, 20, backend.unitRoundoff());
                Tolerance.assertWithinMaxNorm("waves of " + waveElements, actual, expected, tolerance);
            }
        }
    }

    @Test
    void blocksStayWithinTheSmallMatrixKernels() {
        assertThat(HostGemm.smallBlock(2048, 1)).isEqualTo(480);
        assertThat(HostGemm.smallBlock(8 * 2048, 1)).isEqualTo(48);
        assertThat(HostGemm.smallBlock(15 * 7168, 1)).isEqualTo(9);
        assertThat(HostGemm.smallBlock(8 * 1024, 2)).isEqualTo(48);
        assertThat(HostGemm.smallBlock(0, 1)).isEqualTo(1 << 16);
        assertThat(HostGemm.few(8, 31250)).isTrue();
        assertThat(HostGemm.few(8, 31251)).isFalse();
        assertThat(HostGemm.few(9, 1)).isFalse();
    }

    @Test
    void consecutiveTokensAreUsedInPlaceAndOnlyThen() {
        Nd4jBackend backend = Nd4jBackend.float64();
        Run run = Run.of(backend, 6, 5, 30);
        int[] consecutive = new int[30];
        for (int i = 0; i < consecutive.length; i++) {
            consecutive[i] = 7 + i;
        }
        double[] inPlace =
                run.bank().apply(run.tokens(), consecutive, run.groups()).toArray();
        Matrix gathered = backend.gatherRows(run.tokens(), consecutive);
        int[] all = new int[30];
        for (int i = 0; i < all.length; i++) {
            all[i] = i;
        }
        assertThat(run.bank().apply(gathered, all, run.groups()).toArray()).containsExactly(inPlace);
        Matrix buffer = backend.buffer(30, 6);
        backend.accumulate(0, buffer, 0, gathered);
        try (BankPass pass = run.bank().forward(buffer, all, run.groups())) {
            Matrix dOutput = new Cases(1).matrix(backend, 30, 6);
            double[] before = pass.backward(dOutput).get(BankPart.GATE).get(0).toArray();
            backend.accumulate(0, buffer, 0, backend.buffer(30, 6)); // a pass must not see it
            assertThat(pass.backward(dOutput).get(BankPart.GATE).get(0).toArray())
                    .containsExactly(before);
        }
    }

    /** 1518500250² · 8 bytes overflow a long to a small positive number, (2³¹ − 1)² · 8 to a negative one. */
    @Test
    void sizesThatNobodyCanCountAreRefusedBeforeAnyAllocation() {
        for (Nd4jBackend backend : new Nd4jBackend[] {Nd4jBackend.float32(), Nd4jBackend.float64()}) {
            for (int size : new int[] {1_518_500_250, Integer.MAX_VALUE}) {
                assertThatThrownBy(() -> backend.buffer(size, size))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessage("rows x columns: expected at most 2^44 elements but was " + size + " x " + size);
            }
        }
    }
}
