package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;
import org.moe4j.core.testing.Cases;

/** Loops and allocations of the host that fail, each in turn: no native memory stays in use, and none waits for the collector. */
class HostFailuresTest {
    /** What a failing loop throws. */
    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private static final Nd4jBackend BACKEND = Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST);
    private static final RowGroups GROUPS = RowGroups.ofSizes(2, 0, 3, 0);
    private static final int[] ROWS = {3, 1, 0, 2, 3};

    private int calls;
    private int callsLeft = Integer.MAX_VALUE;
    private final HostKernels kernels = new HostKernels(
            BACKEND,
            failing(Elements.class, new DoubleElements()),
            failing(Blas.class, new DoubleBlas()),
            new Workers(1));

    /** An allocation asks for the bytes of an element first. */
    private <T> T failing(Class<T> type, T real) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    calls++;
                    if (callsLeft-- == 0) {
                        throw new Failure();
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    private Matrix matrix(int rows, int columns) {
        return kernels.matrix(rows, columns, new Cases(rows + 7L * columns).doubles(rows * columns));
    }

    private BankWeights weights() {
        Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
        Activation swiGlu = new Activation.SwiGlu();
        BankPart.of(swiGlu, true)
                .forEach(part -> parts.put(
                        part,
                        IntStream.range(0, 4)
                                .mapToObj(e -> matrix(part.rows(6, 5), part.columns(6, 5)))
                                .toList()));
        return new BankWeights(swiGlu, parts);
    }

    @Test
    void whateverFailsInABankNothingStaysInUse() {
        HostBank bank = new HostBank(kernels, weights(), 30); // several waves
        Matrix tokens = matrix(4, 6);
        Matrix dOutput = matrix(5, 6);
        failEach("apply", () -> bank.apply(tokens, ROWS, GROUPS).close());
        failEach("forward", () -> bank.forward(tokens, ROWS, GROUPS).close());
        BankPass pass = bank.forward(tokens, ROWS, GROUPS);
        failEach("backward", () -> pass.backward(dOutput).close());
        Map<BankPart, Map<Integer, Matrix>> into = Map.of(BankPart.UP, Map.of(0, kernels.buffer(5, 6)));
        failEach("backward into", () -> pass.backward(dOutput, into).close());
    }

    @Test
    void whateverFailsInAKernelOfSeveralResultsNothingStaysInUse() {
        Matrix a = matrix(5, 6);
        Matrix b = matrix(5, 4);
        failEach("products", () -> kernels.groupedMatmulTransA(a, b, GROUPS).forEach(Matrix::close));
        Projections projections = Projections.of(matrix(5, 6), matrix(5, 6));
        failEach(
                "activation",
                () -> kernels.activateBackward(new Activation.SwiGlu(), projections, a)
                        .close());
    }

    private void failEach(String what, Runnable run) {
        int start = calls;
        run.run();
        int count = calls - start;
        assertThat(count).as(what).isGreaterThan(2);
        for (int call = 0; call < count; call++) {
            long before = NativeMemory.shared().used();
            callsLeft = call;
            assertThatThrownBy(run::run).isInstanceOf(Failure.class);
            callsLeft = Integer.MAX_VALUE;
            assertThat(NativeMemory.shared().used())
                    .as(what + " with call " + call + " failing")
                    .isLessThanOrEqualTo(before); // less when the collector found what other tests forgot
        }
    }
}
