package org.moe4j.core.nd4j;

import java.util.List;

/**
 * How a product is given to OpenBLAS; every choice depends on the shape alone, so that the bits do, too.
 *
 * <p>Few rows: the weights are taken in blocks so small that OpenBLAS uses its small-matrix kernels, which do not pack
 * the weights first (it does for up to 10⁶ multiplications). Packing would read them at a third of the memory
 * bandwidth. The blocks are cut so that each is contiguous in memory: of columns where the weights are stored
 * transposed, of the inner dimension where not (twice as fast as blocks of columns there).
 *
 * <p>Many rows: blocks of 512 columns, and the result is computed transposed, {@code yᵀ = wᵀ · xᵀ}; with 32 to 256
 * rows that is 10 to 35 % faster than {@code y = x · w}, and more than pays for turning it back.
 */
final class HostGemm {
    /** Columns of a block, and of one task. */
    static final int BLOCK = 512;

    /** Rows of one task at most: what bounds its scratch. */
    static final int ROWS = 1024;

    private static final int MANY_ROWS = 32;
    private static final long SMALL_PRODUCT = 1_000_000;
    private static final int SMALL_BLOCK = 4; // below it the calls themselves begin to show
    private static final int FEW_TERMS = 16;
    private static final int GRADIENT_BLOCK = 8;

    private final Elements elements;

    HostGemm(Elements elements) {
        this.elements = elements;
    }

    /** Whether a product with so many rows is one of few rows. */
    static boolean few(int rows, int inner) {
        return rows < MANY_ROWS && SMALL_BLOCK * (long) rows * inner <= SMALL_PRODUCT;
    }

    /** The largest block, a multiple of 16 if possible, with {@code block · others ≤ 10⁶ / share}. */
    static int smallBlock(long others, int share) {
        long block = Math.max(SMALL_BLOCK, SMALL_PRODUCT / share / Math.max(1, others));
        return (int) Math.min(1 << 16, block < 16 ? block : block / 16 * 16);
    }

    /** {@code y = x · w (+ y)} with (rows×inner)·(inner×columns), y stored either way. */
    void product(int rows, int columns, int inner, Operand x, Operand w, boolean add, Operand y) {
        if (y.transposed() || !few(rows, inner)) {
            byColumns(BLOCK, rows, columns, inner, x, w, add, y);
        } else if (w.transposed()) {
            byColumns(smallBlock((long) rows * inner, 1), rows, columns, inner, x, w, add, y);
        } else {
            byTerms(smallBlock((long) rows * columns, 2), rows, columns, inner, x, w, add, y);
        }
    }

    private void byColumns(int step, int rows, int columns, int inner, Operand x, Operand w, boolean add, Operand y) {
        for (int c = 0; c < columns; c += step) {
            int width = Math.min(step, columns - c);
            multiply(rows, width, inner, x, w.fromColumn(c), add, y.fromColumn(c));
        }
    }

    private void byTerms(int step, int rows, int columns, int inner, Operand x, Operand w, boolean add, Operand y) {
        multiply(rows, columns, Math.min(step, inner), x, w, add, y);
        for (int k = step; k < inner; k += step) {
            multiply(rows, columns, Math.min(step, inner - k), x.fromColumn(k), w.fromRow(k), true, y);
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

    /** {@code y (rows×columns) = aᵀ · b (+ y)} as a sum over few or many terms; with few, writing y is the whole work. */
    void gradient(int rows, int columns, int terms, Operand aTransposed, Operand b, boolean add, Operand y) {
        boolean small = terms <= FEW_TERMS && GRADIENT_BLOCK * (long) columns * terms <= SMALL_PRODUCT;
        int step = small ? GRADIENT_BLOCK : Math.max(1, rows);
        for (int r = 0; r < rows; r += step) {
            multiply(Math.min(step, rows - r), columns, terms, aTransposed.fromRow(r), b, add, y.fromRow(r));
        }
    }

    /** One product of a sum: x (·×inner) from its group's first row on, and w (inner×·). */
    record Term(int inner, Operand x, Operand w) {}

    /** Elements of scratch that {@link #rowMajor} needs; the longest product decides. */
    static long scratch(int rows, int columns, List<Term> terms) {
        int inner = terms.stream().mapToInt(Term::inner).max().orElse(0);
        return few(rows, inner) ? 0 : (long) rows * columns;
    }

    /** {@code y = Σ_i x_i · w_i} into a row-major y, through scratch where the transposed way is faster. */
    void rowMajor(int rows, int columns, List<Term> terms, NativeBuffer scratch, Operand y) {
        boolean turned = scratch(rows, columns, terms) > 0;
        Operand target = turned ? new Operand(scratch, 0, rows, true) : y;
        boolean add = false;
        for (Term term : terms) {
            product(rows, columns, term.inner(), term.x(), term.w(), add, target);
            add = true;
        }
        if (turned) {
            int stride = y.stride();
            elements.transpose(
                    scratch.block(),
                    0,
                    /* rows= */ columns,
                    /* columns= */ rows,
                    y.buffer().block(),
                    y.at(),
                    stride);
        }
    }
}
