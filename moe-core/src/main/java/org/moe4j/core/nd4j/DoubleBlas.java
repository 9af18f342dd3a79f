package org.moe4j.core.nd4j;

import static org.bytedeco.openblas.global.openblas_nolapack.CblasNoTrans;
import static org.bytedeco.openblas.global.openblas_nolapack.CblasRowMajor;
import static org.bytedeco.openblas.global.openblas_nolapack.CblasTrans;
import static org.bytedeco.openblas.global.openblas_nolapack.cblas_dgemm;

import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.Pointer;

/** OpenBLAS in double precision. */
final class DoubleBlas implements Blas {
    private static final ThreadLocal<Cursors> CURSORS = ThreadLocal.withInitial(Cursors::new);

    /** A pointer that can be set, so that a product leaves no garbage; used by its own thread only. */
    private static final class Cursor extends DoublePointer {
        Cursor() {
            super((Pointer) null);
        }

        Cursor to(Operand operand) {
            address = operand.buffer().block().address(operand.at(), Double.BYTES);
            return this;
        }
    }

    private static final class Cursors {
        final Cursor left = new Cursor();
        final Cursor right = new Cursor();
        final Cursor result = new Cursor();
    }

    @Override
    public void gemm(int m, int n, int k, Operand a, Operand b, boolean add, Operand c) {
        Cursors cursors = CURSORS.get();
        cblas_dgemm(
                CblasRowMajor,
                a.transposed() ? CblasTrans : CblasNoTrans,
                b.transposed() ? CblasTrans : CblasNoTrans,
                m,
                n,
                k,
                1,
                cursors.left.to(a),
                a.stride(),
                cursors.right.to(b),
                b.stride(),
                add ? 1 : 0,
                cursors.result.to(c),
                c.stride());
    }

    @Override
    public boolean hasSmallKernels() {
        return OpenBlas.hasSmallKernels();
    }
}
