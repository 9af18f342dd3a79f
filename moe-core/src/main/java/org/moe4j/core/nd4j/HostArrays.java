package org.moe4j.core.nd4j;

import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.moe4j.core.backend.Matrix;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** ND4J arrays and host matrices on the same memory: the only place where the host strategy meets ND4J. */
final class HostArrays {
    private HostArrays() {}

    static Matrix wrap(HostKernels kernels, INDArray array) {
        int rows = (int) array.size(0);
        int columns = (int) array.size(1);
        long elements = (long) rows * columns;
        int bytes = kernels.elements().bytes();
        if (elements == 0) {
            return new HostMatrix(kernels, rows, columns, false, () -> NativeBuffer.allocate(0, false));
        }
        Pointer start = array.data().addressPointer();
        NativeBlock block = NativeBlock.foreign(new Pointer(start).position(0), elements * bytes);
        return new HostMatrix(kernels, rows, columns, false, () -> NativeBuffer.foreign(block, array));
    }

    static INDArray unwrap(HostMatrix matrix, Elements elements) {
        DataType type = elements.bytes() == Float.BYTES ? DataType.FLOAT : DataType.DOUBLE;
        long count = (long) matrix.rows() * matrix.columns();
        if (count == 0) {
            return Nd4j.create(type, matrix.rows(), matrix.columns());
        }
        NativeBuffer buffer = matrix.retainBuffer();
        Pointer start = buffer.block().start();
        Pointer memory = type == DataType.FLOAT ? new FloatPointer(start) : new DoublePointer(start);
        DataBuffer data = Nd4j.createBuffer(memory.capacity(count), count, type);
        Claim.of(data, buffer);
        return Nd4j.create(
                data, new long[] {matrix.rows(), matrix.columns()}, new long[] {matrix.columns(), 1}, 0, 'c');
    }
}
