package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Matrices and arrays on the same memory. */
class ArraysTest {
    private static INDArray counting(DataType type, int rows, int columns) {
        return Nd4j.arange(rows * columns).castTo(type).reshape('c', rows, columns);
    }

    @ParameterizedTest
    @EnumSource(Strategy.class)
    void wrappedArraysAreSeenNotCopied(Strategy strategy) {
        for (Precision precision : Precision.values()) {
            Nd4jBackend backend = Nd4jBackend.of(precision, strategy);
            INDArray array = counting(NdArrayChecks.type(precision), 4, 3);
            Matrix whole = backend.wrap(array);
            Matrix part = backend.wrap(array.get(interval(1, 3), all()));
            assertThat(whole.toArray()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
            assertThat(part.toArray()).containsExactly(3, 4, 5, 6, 7, 8);
            assertThat(part.get(1, 2)).isEqualTo(8);
            array.putScalar(1, 0, -1); // against the promise, to see that the memory is shared
            assertThat(part.get(0, 0)).isEqualTo(-1);
            assertThat(backend.matmulTransB(part, whole).get(0, 0)).isEqualTo(-1 * 0 + 4 * 1 + 5 * 2);
            whole.close();
            assertThat(array.getDouble(3, 2)).isEqualTo(11);
        }
    }

    @ParameterizedTest
    @EnumSource(Strategy.class)
    void closedArraysAreRefused(Strategy strategy) {
        INDArray array = counting(DataType.FLOAT, 2, 2).dup();
        array.close();
        assertThatThrownBy(() -> Nd4jBackend.of(Precision.FLOAT32, strategy).wrap(array))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("array: expected an open array but was closed");
    }

    @ParameterizedTest
    @EnumSource(Strategy.class)
    void unwrappedArraysOutliveTheMatrix(Strategy strategy) {
        for (Precision precision : Precision.values()) {
            Nd4jBackend backend = Nd4jBackend.of(precision, strategy);
            Matrix matrix = backend.matrix(2, 3, new double[] {1, 2, 3, 4, 5, 6});
            INDArray array = backend.unwrap(matrix);
            matrix.close();
            assertThat(array.shape()).containsExactly(2, 3);
            assertThat(array.dataType()).isEqualTo(NdArrayChecks.type(precision));
            assertThat(array.mmul(array.transpose()).getDouble(1, 1)).isEqualTo(16 + 25 + 36);
            assertThat(backend.wrap(array).toArray()).containsExactly(1, 2, 3, 4, 5, 6);
            INDArray empty = backend.unwrap(backend.matrix(0, 3, new double[0]));
            assertThat(empty.shape()).containsExactly(0, 3);
            assertThat(backend.wrap(empty).columns()).isEqualTo(3);
        }
    }

    @Test
    void closingAnUnwrappedArrayLeavesTheMatrixAlone() {
        Nd4jBackend backend = Nd4jBackend.float32();
        Matrix matrix = backend.matrix(2, 3, new double[] {1, 2, 3, 4, 5, 6});
        backend.unwrap(matrix).close();
        assertThat(matrix.toArray()).containsExactly(1, 2, 3, 4, 5, 6);
    }

    @Test
    void unwrappingInALoopDoesNotGrow() {
        Nd4jBackend backend = Nd4jBackend.float32();
        long before = NativeMemory.shared().used();
        for (int i = 0; i < 1000; i++) {
            try (Matrix matrix = backend.buffer(1024, 1024)) {
                assertThat(backend.unwrap(matrix).rows()).isEqualTo(1024);
            }
        }
        assertThat(NativeMemory.shared().used() - before).isLessThan(1000L * (4 << 20));
    }

    private static void assertRefused(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
    }

    @Test
    void arraysOfAnotherLayoutAreRefused() {
        Nd4jBackend backend = Nd4jBackend.float32();
        INDArray array = counting(DataType.FLOAT, 4, 3);
        assertRefused(
                () -> backend.wrap(array.transpose()),
                "array: expected 'c' order without gaps but was 'f' order; copy it with dup('c')");
        assertRefused(
                () -> backend.wrap(array.get(all(), interval(0, 2))),
                "array: expected 'c' order without gaps but was strided; copy it with dup('c')");
        assertRefused(
                () -> backend.wrap(array.castTo(DataType.DOUBLE)),
                "array: expected FLOAT elements but was DOUBLE; convert it with castTo");
        assertRefused(() -> backend.wrap(array.reshape(2, 2, 3)), "array: expected 2 dimensions but was 3; reshape it");
        assertRefused(
                () -> backend.unwrap(Nd4jBackend.float64().buffer(1, 1)),
                "matrix: expected a matrix of Nd4jBackend[float32] but was one of Nd4jBackend[float64]; "
                        + "convert it with backend.copyOf(matrix)");
    }

    @Test
    void rowsAndColumnsAloneAreWrapped() {
        Nd4jBackend backend = Nd4jBackend.float64();
        INDArray array = counting(DataType.DOUBLE, 5, 4);
        assertThat(backend.wrap(array.get(interval(2, 3), all())).toArray()).containsExactly(8, 9, 10, 11);
        assertThat(backend.wrap(counting(DataType.DOUBLE, 5, 1)).toArray()).containsExactly(0, 1, 2, 3, 4);
        assertThat(backend.wrap(counting(DataType.DOUBLE, 1, 1)).get(0, 0)).isZero();
    }
}
