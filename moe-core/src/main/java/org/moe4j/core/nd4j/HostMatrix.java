package org.moe4j.core.nd4j;

import java.util.Objects;
import java.util.function.Supplier;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;

/** A handle on native memory that holds a row-major matrix. */
final class HostMatrix implements Matrix {
    private final HostKernels kernels;
    private final int rows;
    private final int columns;
    private final boolean writable;
    private final NativeBuffer buffer;
    private final Claim claim;

    /** Takes over one hold on a buffer, which is made when there is somebody to take it. */
    HostMatrix(HostKernels kernels, int rows, int columns, boolean writable, Supplier<NativeBuffer> buffer) {
        this.kernels = kernels;
        this.rows = rows;
        this.columns = columns;
        this.writable = writable;
        this.buffer = buffer.get();
        this.claim = Claim.of(this, this.buffer);
    }

    /** The buffer of an open matrix, held for the caller, who has to release it. */
    NativeBuffer retainBuffer() {
        claim.retain(this, "matrix");
        return buffer;
    }

    @Override
    public boolean isBuffer() {
        return writable;
    }

    @Override
    public void close() {
        claim.close();
    }

    @Override
    public Matrix share() {
        return new HostMatrix(kernels, rows, columns, writable, this::retainBuffer);
    }

    @Override
    public Backend backend() {
        return kernels.backend();
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
        long at = (long) Objects.checkIndex(row, rows) * columns + Objects.checkIndex(column, columns);
        double[] value = new double[1];
        try (Lease lease = new Lease()) {
            kernels.elements().read(lease.of(this).block(), at, value, 0, 1);
        }
        return value[0];
    }

    @Override
    public double[] toArray() {
        double[] values = new double[Require.elements(rows, columns)];
        try (Lease lease = new Lease()) {
            NativeBuffer held = lease.of(this);
            if (values.length > 0) {
                kernels.elements().read(held.block(), 0, values, 0, values.length);
            }
        }
        return values;
    }

    @Override
    public void readRows(int from, int to, float[] into) {
        KernelChecks.rows(this, from, to, into.length);
        int count = (to - from) * columns;
        try (Lease lease = new Lease()) {
            NativeBuffer held = lease.of(this);
            if (count > 0) {
                kernels.elements().read(held.block(), (long) from * columns, into, count);
            }
        }
    }

    @Override
    public void readRows(int from, int to, double[] into) {
        KernelChecks.rows(this, from, to, into.length);
        int count = (to - from) * columns;
        try (Lease lease = new Lease()) {
            NativeBuffer held = lease.of(this);
            if (count > 0) {
                kernels.elements().read(held.block(), (long) from * columns, into, 0, count);
            }
        }
    }

    @Override
    public String toString() {
        return kernels.backend().name() + " matrix " + rows + " x " + columns;
    }
}
