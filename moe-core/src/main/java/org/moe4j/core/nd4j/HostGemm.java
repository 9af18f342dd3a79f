package org.moe4j.core.nd4j;

/**
 * How a product is given to OpenBLAS; every choice depends on the shape alone, so that the bits do, too.
 *
 * <p>Few rows: the weights are read in blocks of so few columns that OpenBLAS takes its small-matrix kernels, which do
 * not pack the weights first (it does for up to 10⁶ multiplications). Packing would read them at a third of the memory
 * bandwidth.
 *
 * <p>Many rows: blocks of 512 columns, and the result is computed transposed, {@code yᵀ = wᵀ · xᵀ}; with 16 to 256
 * rows that is 10 to 35 % faster than {@code y = x · w}, and more than pays for turning it back.
 */
final class HostGemm {
    /** From as many rows on a result is computed transposed. */
    static final int MANY_ROWS = 16;

    /** Columns of a block, and of one task. */
    static final int BLOCK = 512;

    /** Rows of one task at most: what bounds its scratch. */
    static final int ROWS = 1024;

    private static final long SMALL_PRODUCT = 1_000_000;

    private final Elements elements;

    HostGemm(Elements elements) {
        this.elements = elements;
    }

    /** Columns that one call to OpenBLAS computes. */
    static int blockColumns(int rows, int inner) {
        long columns = SMALL_PRODUCT / Math.max(1, (long) rows * inner);
        if (rows >= MANY_ROWS || columns < 8) {
            return BLOCK;
        }
        return (int) Math.min(BLOCK, columns < 16 ? 8 : columns / 16 * 16);
    }

    /** {@code y = x · w (+ y)} with (rows×inner)·(inner×columns), y stored either way. */
    void product(int rows, int columns, int inner, Operand x, Operand w, boolean add, Operand y) {
        int step = blockColumns(rows, inner);
        for (int c = 0; c < columns; c += step) {
            multiply(rows, Math.min(step, columns - c), inner, x, w.fromColumn(c), add, y.fromColumn(c));
        }
    }

    /** The same in one call, {@code y (m×n) = a (m×k) · b (k×n) (+ y)}. */
    void multiply(int m, int n, int k, Operand a, Operand b, boolean add, Operand y) {
        if (m == 0 || n == 0) {
            return;
        }
        if (y.transposed()) {
            multiply(n, m, k, b.flipped(), a.flipped(), add, y.flipped());
        } else if (k > 0) {
            elements.gemm(m, n, k, a, b, add, y);
        } else if (!add) {
            zero(m, n, y);
        }
    }

    private void zero(int rows, int columns, Operand y) {
        double[] zeros = new double[columns];
        for (int r = 0; r < rows; r++) {
            elements.write(y.buffer().block(), y.fromRow(r).at(), zeros, 0, columns);
        }
    }

    /** Elements of scratch that {@link #rowMajor} needs. */
    static long scratch(int rows, int columns) {
        return rows >= MANY_ROWS ? (long) rows * columns : 0;
    }

    /** {@code y = Σ_i x_i · w_i} into a row-major y, through scratch where the transposed way is faster. */
    void rowMajor(int rows, int columns, int inner, Operand[] x, Operand[] w, NativeBuffer scratch, Operand y) {
        boolean turned = scratch(rows, columns) > 0;
        Operand target = turned ? new Operand(scratch, 0, rows, true) : y;
        for (int i = 0; i < x.length; i++) {
            product(rows, columns, inner, x[i], w[i], i > 0, target);
        }
        if (turned) {
            elements.transpose(
                    scratch.block(),
                    0,
                    /* rows= */ columns,
                    /* columns= */ rows,
                    y.buffer().block(),
                    y.at(),
                    y.stride());
        }
    }
}
