package org.moe4j.core.nd4j;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Makes arrays of one number type, all in 'c' order. */
record DeviceArrays(DataType type) {
    INDArray zeros(int rows, int columns) {
        return Nd4j.create(type, new long[] {rows, columns}, 'c');
    }

    INDArray column(double[] values) {
        return of(values.length, 1, values);
    }

    INDArray of(int rows, int columns, double[] rowMajor) {
        return Nd4j.create(rowMajor, new long[] {rows, columns}, new long[] {columns, 1}, 'c', type);
    }

    /** An array without elements that still knows its shape. */
    INDArray empty(int rows, int columns) {
        return Nd4j.create(type, rows, columns);
    }

    /** A view of rows {@code from … to − 1}. */
    static INDArray rows(INDArray a, int from, int to) {
        return a.get(interval(from, to), all());
    }
}
