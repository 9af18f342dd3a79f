package org.moe4j.core.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;

/** Bits of a row depend on the row and the weights alone, and are those of a scalar loop of {@link Math#fma}. */
final class DeterminismTest {
    private static final int[] BATCHES = {1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 64};
    private static final int[] WORKERS = {1, 2, 3, 4, 16};
    private static final int RUNS = 20; // for each number of workers: 100 of a case

    /** What all runs of a case are compared with, by expert and token. */
    private static final class Expected {
        final List<ScalarExpert> experts;
        final double[] tokens;
        final double[] gradients;
        final double[][][] outputs = new double[DeterminismCase.EXPERTS][DeterminismCase.TOKENS][];
        final double[][][] slopes = new double[DeterminismCase.EXPERTS][DeterminismCase.TOKENS][];

        Expected(DeterminismCase of) {
            experts = of.experts();
            tokens = of.rows(11);
            gradients = of.rows(12);
        }

        void check(String what, DeterminismCase.Run run, int[] index, RowGroups groups) {
            for (int e = 0; e < groups.count(); e++) {
                for (int i = groups.from(e); i < groups.to(e); i++) {
                    int t = index[i];
                    if (outputs[e][t] == null) {
                        outputs[e][t] = experts.get(e).output(DeterminismCase.row(tokens, t));
                        slopes[e][t] = experts.get(e)
                                .inputGradient(DeterminismCase.row(tokens, t), DeterminismCase.row(gradients, t));
                    }
                    same(what + ", output of row " + i, DeterminismCase.row(run.output, i), outputs[e][t]);
                    same(what + ", gradient of row " + i, DeterminismCase.row(run.gradient, i), slopes[e][t]);
                }
            }
        }

        private static void same(String what, double[] actual, double[] expected) {
            if (!Arrays.equals(actual, expected)) {
                assertThat(actual).as(what).containsExactly(expected);
            }
        }
    }

    static List<DeterminismCase> cases() {
        return DeterminismCase.all();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void aRowAloneIsThatRowInAnyBatch(DeterminismCase of) {
        Expected expected = new Expected(of);
        VectorBackend backend = of.backend();
        try (Bank bank = of.bank(backend, expected.experts);
                Matrix tokens = backend.matrix(DeterminismCase.TOKENS, DeterminismCase.HIDDEN, expected.tokens)) {
            for (int batch : BATCHES) {
                for (int first = 0; first + batch <= DeterminismCase.TOKENS; first += 3 * batch) {
                    int[] index = IntStream.range(first, first + batch).toArray();
                    RowGroups groups = RowGroups.ofSizes(0, batch, 0, 0, 0);
                    DeterminismCase.Run run =
                            DeterminismCase.run(backend, bank, tokens, expected.gradients, index, groups);
                    expected.check(of.name() + ", batch of " + batch, run, index, groups);
                    try (Matrix applied = bank.apply(tokens, index, groups)) {
                        assertThat(applied.toArray()).isEqualTo(run.output);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void workersLoadsAndRunsChangeNoBit(DeterminismCase of) {
        Expected expected = new Expected(of);
        List<Map.Entry<String, RowGroups>> loads =
                List.copyOf(DeterminismCase.loads().entrySet());
        for (int workers : WORKERS) {
            VectorBackend backend = of.backend().withWorkers(workers);
            try (Bank bank = of.bank(backend, expected.experts);
                    Matrix tokens = backend.matrix(DeterminismCase.TOKENS, DeterminismCase.HIDDEN, expected.tokens)) {
                for (int i = 0; i < RUNS; i++) {
                    Map.Entry<String, RowGroups> load = loads.get(i % loads.size());
                    int[] index = DeterminismCase.index(load.getValue());
                    DeterminismCase.Run run =
                            DeterminismCase.run(backend, bank, tokens, expected.gradients, index, load.getValue());
                    String what = "%s, %d workers, %s, run %d".formatted(of.name(), workers, load.getKey(), i);
                    expected.check(what, run, index, load.getValue());
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void storageChangesNoBit(DeterminismCase of) {
        Expected expected = new Expected(of);
        VectorBackend backend = of.backend().withStorage(WeightStorage.FULL);
        try (Bank bank = of.bank(backend, expected.experts);
                Matrix tokens = backend.matrix(DeterminismCase.TOKENS, DeterminismCase.HIDDEN, expected.tokens)) {
            RowGroups groups = RowGroups.ofSizes(17, 1, 0, 9, 4);
            int[] index = DeterminismCase.index(groups);
            expected.check(
                    of.name() + " in full",
                    DeterminismCase.run(backend, bank, tokens, expected.gradients, index, groups),
                    index,
                    groups);
        }
    }
}
