package org.moe4j.core.nd4j;

import java.util.Objects;
import java.util.function.Consumer;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** A handle on an ND4J array in 'c' order, or on no array where there are no elements: ND4J forgets such shapes. */
final class DeviceMatrix implements Matrix {
    private final Backend backend;
    private final int rows;
    private final int columns;
    private final boolean writable;
    private final DeviceBuffer buffer;
    private final Claim claim;

    /** Takes over one hold on the buffer. */
    DeviceMatrix(Backend backend, int rows, int columns, boolean writable, DeviceBuffer buffer) {
        this.backend = backend;
        this.rows = rows;
        this.columns = columns;
        this.writable = writable;
        this.buffer = buffer;
        this.claim = Claim.of(this, buffer);
    }

    /** The buffer of an open matrix, held for the caller, who has to release it. */
    DeviceBuffer retainBuffer() {
        claim.retain(this, "matrix");
        return buffer;
    }

    @Override
    public boolean isBuffer() {
        return writable;
    }

    boolean isEmpty() {
        return rows == 0 || columns == 0;
    }

    @Override
    public void close() {
        claim.close();
    }

    @Override
    public Matrix share() {
        return new DeviceMatrix(backend, rows, columns, writable, retainBuffer());
    }

    @Override
    public Backend backend() {
        return backend;
    }

    @Override
    public int rows() {
        return rows;
    }

    @Override
    public int columns() {
        return columns;
    }

    @Override
    public double get(int row, int column) {
        Objects.checkIndex(row, rows);
        Objects.checkIndex(column, columns);
        DeviceBuffer held = retainBuffer();
        try {
            return held.array().getDouble(row, column);
        } finally {
            held.release(false);
        }
    }

    @Override
    public double[] toArray() {
        int count = Require.elements(rows, columns);
        DeviceBuffer held = retainBuffer();
        try {
            if (count == 0) {
                return new double[0];
            }
            INDArray copy = held.array().dup('c'); // a wrapped array may start anywhere in its data
            double[] values = copy.data().asDouble();
            copy.close();
            return values;
        } finally {
            held.release(false);
        }
    }

    @Override
    public void readRows(int from, int to, float[] into) {
        KernelChecks.rows(this, from, to, into.length);
        copyRows(from, to, rows -> System.arraycopy(rows.asFloat(), 0, into, 0, (to - from) * columns));
    }

    @Override
    public void readRows(int from, int to, double[] into) {
        KernelChecks.rows(this, from, to, into.length);
        copyRows(from, to, rows -> System.arraycopy(rows.asDouble(), 0, into, 0, (to - from) * columns));
    }

    private void copyRows(int from, int to, Consumer<DataBuffer> read) {
        DeviceBuffer held = retainBuffer();
        try {
            if ((to - from) * columns > 0) {
                INDArray copy = held.array()
                        .get(NDArrayIndex.interval(from, to), NDArrayIndex.all())
                        .dup('c');
                read.accept(copy.data());
                copy.close();
            }
        } finally {
            held.release(false);
        }
    }

    @Override
    public String toString() {
        return backend.name() + " matrix " + rows + " x " + columns;
    }
}
