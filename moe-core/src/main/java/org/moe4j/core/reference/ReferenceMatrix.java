package org.moe4j.core.reference;

import java.util.Objects;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;

/** A matrix in one {@code double[]}; closing only marks it, the garbage collector does the rest. */
final class ReferenceMatrix implements Matrix {
    private final ReferenceBackend backend;
    private final int rows;
    private final int columns;
    private final double[] values;
    private final boolean writable;
    private volatile boolean closed;

    ReferenceMatrix(ReferenceBackend backend, int rows, int columns, double[] values, boolean writable) {
        this.backend = backend;
        this.rows = rows;
        this.columns = columns;
        this.values = values;
        this.writable = writable;
    }

    /** The values of an argument, after the check that it is open. */
    static double[] values(Matrix matrix) {
        ReferenceMatrix open = (ReferenceMatrix) matrix;
        if (open.closed) {
            throw new IllegalStateException("matrix: expected an open matrix but was closed");
        }
        return open.values;
    }

    @Override
    public void close() {
        closed = true;
    }

    @Override
    public Matrix share() {
        return new ReferenceMatrix(backend, rows, columns, values(this), writable);
    }

    @Override
    public boolean isBuffer() {
        return writable;
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
        return values(this)[Objects.checkIndex(row, rows) * columns + Objects.checkIndex(column, columns)];
    }

    @Override
    public double[] toArray() {
        return values(this).clone();
    }

    @Override
    public void readRows(int from, int to, float[] into) {
        KernelChecks.rows(this, from, to, into.length);
        double[] values = values(this);
        for (int i = 0; i < (to - from) * columns; i++) {
            into[i] = (float) values[from * columns + i];
        }
    }

    @Override
    public void readRows(int from, int to, double[] into) {
        KernelChecks.rows(this, from, to, into.length);
        System.arraycopy(values(this), from * columns, into, 0, (to - from) * columns);
    }

    @Override
    public String toString() {
        return backend.name() + " matrix " + rows + " x " + columns;
    }
}
