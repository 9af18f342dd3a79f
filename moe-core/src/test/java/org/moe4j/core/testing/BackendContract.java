package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;

/** What every backend owes: the formulas of its kernels, purity, lifetimes, errors, and calls from many threads. */
public abstract class BackendContract extends BankContract {
    private static final int THREADS = 16;
    private static final Activation SWI_GLU = new Activation.SwiGlu();
    private static final Activation RELU = new Activation.Relu();

    /** A backend that does not understand the matrices of the one under test. */
    protected abstract Backend foreign();

    /** Every kernel, each with one 3×3 matrix in all places. */
    private Map<String, Consumer<Matrix>> kernels() {
        Backend backend = backend();
        RowGroups three = RowGroups.single(3);
        int[] rows = {0, 2, 1};
        double[] scales = {1, 2, 3};
        Map<String, Consumer<Matrix>> kernels = new LinkedHashMap<>();
        kernels.put("groupedMatmul", m -> backend.groupedMatmul(m, three, List.of(m)));
        kernels.put("groupedMatmulTransB", m -> backend.groupedMatmulTransB(m, three, List.of(m)));
        kernels.put("groupedMatmulTransA", m -> backend.groupedMatmulTransA(m, m, three));
        kernels.put("gatherRows", m -> backend.gatherRows(m, rows));
        kernels.put("sumRows", m -> backend.sumRows(m, rows, scales, 1));
        kernels.put("scaleRows", m -> backend.scaleRows(m, scales));
        kernels.put("rowDots", m -> backend.rowDots(m, m));
        kernels.put("linearCombination", m -> backend.linearCombination(1, m, 2, m));
        kernels.put("multiply", m -> backend.multiply(m, m));
        kernels.put("activate", m -> backend.activate(SWI_GLU, Projections.of(m, m)));
        kernels.put("activateBackward", m -> backend.activateBackward(SWI_GLU, Projections.of(m, m), m));
        kernels.put("activate plain", m -> backend.activate(RELU, Projections.of(m)));
        kernels.put("activateBackward plain", m -> backend.activateBackward(RELU, Projections.of(m), m));
        kernels.put(
                "accumulateMatmulTransA",
                m -> backend.accumulateMatmulTransA(m, m, three, Map.of(0, backend.buffer(3, 3))));
        kernels.put("accumulate", m -> backend.accumulate(1, backend.buffer(3, 3), 0, m));
        kernels.put("firstNonFinite", backend::firstNonFinite);
        kernels.put("prepare", m -> backend.prepare(BankWeights.swiGlu(List.of(m), List.of(m), List.of(m))));
        kernels.put("bank", m -> {
            Matrix weight = backend.matrix(3, 3, scales9());
            List<Matrix> one = List.of(weight);
            try (Bank bank = backend.prepare(BankWeights.swiGlu(one, one, one));
                    BankPass pass = bank.forward(m, rows, three)) {
                bank.apply(m, rows, three);
                pass.backward(m);
                pass.backward(m, Map.of(BankPart.UP, Map.of(0, backend.buffer(3, 3))));
            }
        });
        return kernels;
    }

    private static double[] scales9() {
        return new Cases(9).doubles(9);
    }

    @Test
    void rowsAreReadInSingleAndInDoublePrecision() {
        double[] values = new Cases(4).doubles(5 * 3);
        Matrix matrix = backend().matrix(5, 3, values);
        double[] held = matrix.toArray();
        for (int from = 0; from <= 5; from++) {
            for (int to = from; to <= 5; to++) {
                int count = (to - from) * 3;
                float[] singles = new float[count + 1];
                double[] doubles = new double[count + 1];
                singles[count] = 7;
                doubles[count] = 7;
                matrix.readRows(from, to, singles);
                matrix.readRows(from, to, doubles);
                for (int i = 0; i < count; i++) {
                    assertThat(singles[i]).isEqualTo((float) held[from * 3 + i]);
                    assertThat(doubles[i]).isEqualTo(held[from * 3 + i]);
                }
                assertThat(singles[count]).isEqualTo(7);
                assertThat(doubles[count]).isEqualTo(7);
            }
        }
    }

    @Test
    void rowsThatCannotBeReadAreRefused() {
        Matrix matrix = backend().matrix(5, 3, new double[15]);
        assertThatThrownBy(() -> matrix.readRows(0, 2, new float[5]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("into: expected at least 6 numbers but was 5");
        assertThatThrownBy(() -> matrix.readRows(0, 2, new double[5]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("into: expected at least 6 numbers but was 5");
        assertThatThrownBy(() -> matrix.readRows(4, 6, new float[6])).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> matrix.readRows(2, 1, new float[6])).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> matrix.readRows(4, 6, new double[6])).isInstanceOf(IndexOutOfBoundsException.class);
        Matrix closed = backend().matrix(1, 1, new double[1]);
        closed.close();
        assertClosed(() -> closed.readRows(0, 1, new float[1]));
        assertClosed(() -> closed.readRows(0, 1, new double[1]));
    }

    @Test
    void kernelsLeaveTheirArgumentsAlone() {
        double[] values = scales9();
        Matrix argument = backend().matrix(3, 3, values);
        double[] before = argument.toArray();
        kernels().forEach((name, kernel) -> {
            kernel.accept(argument);
            assertThat(argument.toArray()).as(name).containsExactly(before);
        });
        assertThat(values).containsExactly(scales9());
    }

    @Test
    void kernelsRefuseClosedMatrices() {
        Matrix closed = backend().matrix(3, 3, scales9());
        closed.close();
        closed.close();
        kernels()
                .forEach((name, kernel) -> assertThatThrownBy(() -> kernel.accept(closed))
                        .as(name)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage("matrix: expected an open matrix but was closed"));
        assertClosed(closed::toArray);
        assertClosed(() -> closed.get(0, 0));
        assertClosed(closed::share);
        assertThat(closed.rows()).isEqualTo(3);
        Matrix buffer = backend().buffer(3, 3);
        buffer.close();
        assertClosed(() -> backend().accumulate(1, buffer, 0, backend().matrix(3, 3, scales9())));
    }

    private static void assertClosed(ThrowingCallable use) {
        assertThatThrownBy(use)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("matrix: expected an open matrix but was closed");
    }

    @Test
    void kernelsRefuseMatricesOfAnotherBackend() {
        Matrix stranger = foreign().matrix(3, 3, scales9());
        String wanted = "expected a matrix of " + backend().name() + " but was one of "
                + foreign().name() + "; convert it with backend.copyOf(";
        kernels()
                .forEach((name, kernel) -> assertThatThrownBy(() -> kernel.accept(stranger))
                        .as(name)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining(wanted));
        assertThat(backend().copyOf(stranger).backend()).isEqualTo(backend());
        assertThat(backend()).isNotEqualTo(foreign());
        assertThat(backend().toString()).isEqualTo(backend().name());
    }

    private static void assertRefused(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
    }

    @Test
    void shapesThatDoNotFitAreNamed() {
        Backend b = backend();
        Matrix a = b.matrix(2, 3, new double[6]);
        Matrix square = b.matrix(2, 2, new double[4]);
        RowGroups two = RowGroups.single(2);
        assertRefused(() -> b.matrix(2, 3, new double[5]), "rowMajor: expected 6 values (rows x columns) but was 5");
        assertRefused(() -> b.matrix(-1, 3, new double[0]), "rows: expected at least 0 but was -1");
        assertRefused(() -> b.buffer(1, -3), "columns: expected at least 0 but was -3");
        assertRefused(
                () -> b.groupedMatmul(a, RowGroups.single(3), List.of(a)),
                "groups: expected 2 rows (rows of a) but was 3");
        assertRefused(() -> b.groupedMatmul(a, two, List.of()), "b: expected 1 matrices (one per row group) but was 0");
        assertRefused(
                () -> b.groupedMatmul(a, two, List.of(square)),
                "b[0]: expected 3 x 2 (columns of a and the other matrices of b) but was 2 x 2");
        assertRefused(
                () -> b.groupedMatmulTransB(a, two, List.of(square)),
                "b[0]: expected 2 x 3 (columns of a and the other matrices of b) but was 2 x 2");
        assertRefused(
                () -> b.groupedMatmulTransA(a, b.matrix(1, 3, new double[3]), two),
                "b: expected 2 rows (rows of a) but was 1");
        assertRefused(() -> b.multiply(a, square), "b: expected 2 x 3 (shape of a) but was 2 x 2");
        assertRefused(
                () -> b.activate(SWI_GLU, Projections.of(a, square)),
                "up: expected 2 x 3 (shape of gate) but was 2 x 2");
        assertRefused(
                () -> b.activateBackward(RELU, Projections.of(a), square),
                "dHidden: expected 2 x 3 (shape of up) but was 2 x 2");
        assertRefused(
                () -> b.accumulateMatmulTransA(a, a, two, Map.of(0, b.buffer(3, 2))),
                "into[0]: expected 3 x 3 (columns of a and of b) but was 3 x 2");
        assertRefused(
                () -> b.accumulateMatmulTransA(square, square, two, Map.of(0, square)),
                "into[0]: expected a matrix made by backend.buffer but was an immutable matrix");
        Matrix buffer = b.buffer(3, 3);
        assertRefused(
                () -> b.accumulateMatmulTransA(
                        a, a, RowGroups.ofSizes(1, 1), new TreeMap<>(Map.of(0, buffer, 1, buffer))),
                "into[1]: expected a buffer of its own but was that of into[0]");
        assertThatThrownBy(() -> b.accumulateMatmulTransA(a, a, two, Map.of(1, b.buffer(3, 3))))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertRefused(() -> b.rowDots(a, square), "b: expected 2 x 3 (shape of a) but was 2 x 2");
        assertRefused(() -> b.scaleRows(a, new double[1]), "scales: expected 2 factors (rows of a) but was 1");
    }

    @Test
    void badIndicesAndTargetsAreNamed() {
        Backend b = backend();
        Matrix a = b.matrix(2, 3, new double[6]);
        assertRefused(
                () -> b.gatherRows(a, new int[] {0, 2}),
                "rows: expected indices 0..1 (rows of the matrix) but was 2 at position 1");
        assertRefused(
                () -> b.sumRows(a, new int[] {-2}, new double[1], 1),
                "rows: expected indices -1..1 (rows of the matrix) but was -2 at position 0");
        assertRefused(
                () -> b.sumRows(a, new int[3], new double[3], 2),
                "rows: expected a multiple of perRow (2) indices but was 3");
        assertRefused(
                () -> b.accumulate(1, b.buffer(2, 3), 1, a),
                "fromRow: expected at most 0 (rows of the buffer less rows of a) but was 1");
        assertRefused(
                () -> b.accumulate(1, a, 0, a),
                "buffer: expected a matrix made by backend.buffer but was an immutable matrix");
        assertThatThrownBy(() -> a.get(2, 0)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> a.get(0, 3)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void aSharedHandleOutlivesTheOther() {
        Matrix first = backend().matrix(1, 2, new double[] {1, 2});
        Matrix second = first.share();
        first.close();
        first.close();
        assertThat(second.toArray()).containsExactly(1, 2);
        assertThat(second.share().toArray()).containsExactly(1, 2);
        second.close();
        assertClosed(second::toArray);
    }

    @Test
    void manyThreadsGetTheBitsOfOne() throws Exception {
        BankCase c = bankCase(5);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (Bank bank = c.bank()) {
            double[] output = bank.apply(c.tokens, c.rows, c.groups).toArray();
            double[] input;
            try (BankPass pass = bank.forward(c.tokens, c.rows, c.groups)) {
                input = pass.backward(c.dOutput).input().toArray();
            }
            List<Future<?>> runs = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                runs.add(threads.submit(() -> {
                    for (int i = 0; i < 10; i++) {
                        try (BankPass pass = bank.forward(c.tokens, c.rows, c.groups);
                                Matrix applied = bank.apply(c.tokens, c.rows, c.groups)) {
                            assertThat(applied.toArray()).containsExactly(output);
                            assertThat(pass.backward(c.dOutput).input().toArray())
                                    .containsExactly(input);
                        }
                    }
                }));
            }
            for (Future<?> run : runs) {
                run.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void closingWhileInUseGivesTheResultOrTheException() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            for (int i = 0; i < 200; i++) {
                Matrix a = backend().matrix(17, 17, new Cases(i).doubles(17 * 17));
                double[] expected = backend().matmul(a, a).toArray();
                Future<?> use = threads.submit(() -> {
                    try {
                        assertThat(backend().matmul(a, a).toArray()).containsExactly(expected);
                    } catch (IllegalStateException closed) {
                        assertThat(closed).hasMessage("matrix: expected an open matrix but was closed");
                    }
                });
                Future<?> close = threads.submit(a::close);
                use.get();
                close.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
