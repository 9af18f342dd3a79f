package org.moe4j.core.vector;

import java.util.Objects;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;

/**
 * A matrix on the heap; closing only marks the handle, the garbage collector does the rest.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class VectorMatrix<A> implements Matrix {
    private final Backend backend;
    private final Numbers<A> numbers;
    private final int rows;
    private final int columns;
    private final Content<A> content;
    private final boolean writable;
    private volatile boolean closed;

    VectorMatrix(Backend backend, Numbers<A> numbers, int rows, int columns, Content<A> content, boolean writable) {
        this.backend = backend;
        this.numbers = numbers;
        this.rows = rows;
        this.columns = columns;
        this.content = content;
        this.writable = writable;
    }

    /** The numbers of an argument, after the check that it is open; its owner has been checked. */
    @SuppressWarnings("unchecked")
    static <A> Content<A> content(Matrix matrix) {
        return ((VectorMatrix<A>) matrix).open();
    }

    private Content<A> open() {
        if (closed) {
            throw new IllegalStateException("matrix: expected an open matrix but was closed");
        }
        return content;
    }

    @Override
    public void close() {
        closed = true;
    }

    @Override
    public Matrix share() {
        return new VectorMatrix<>(backend, numbers, rows, columns, open(), writable);
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
        return open().get(Objects.checkIndex(row, rows), Objects.checkIndex(column, columns));
    }

    @Override
    public double[] toArray() {
        double[] all = new double[rows * columns];
        numbers.widen(open().array(), 0, all, all.length);
        return all;
    }

    @Override
    public void readRows(int from, int to, float[] into) {
        KernelChecks.rows(this, from, to, into.length);
        if (numbers == FloatNumbers.INSTANCE) {
            VectorMatrix.<float[]>content(this).rows(from, to, into);
        } else {
            double[] wide = new double[(to - from) * columns];
            VectorMatrix.<double[]>content(this).rows(from, to, wide);
            for (int i = 0; i < wide.length; i++) {
                into[i] = (float) wide[i];
            }
        }
    }

    @Override
    public void readRows(int from, int to, double[] into) {
        KernelChecks.rows(this, from, to, into.length);
        A own = numbers.array((to - from) * columns);
        open().rows(from, to, own);
        numbers.widen(own, 0, into, (to - from) * columns);
    }

    @Override
    public String toString() {
        return backend.name() + " matrix " + rows + " x " + columns;
    }
}
