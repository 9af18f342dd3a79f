package org.moe4j.core.nd4j;

import java.util.List;

/**
 * How a product is given to OpenBLAS; every choice depends on the shape alone, so that the bits do, too.
 *
 * <p>Up to 10⁶ multiplications OpenBLAS uses kernels that read their operands where they are; beyond, it packs them first,
 * which for few rows takes longer than the product. So products are cut into pieces of that size:
 *
 * <table>
 * <caption>Pieces</caption>
 * <tr><th>rows</th><th>weights stored transposed</th><th>weights stored as used</th></tr>
 * <tr><td>to 8</td><td>{@code y = x · w}, blocks of columns as large as may be</td>
 * <td>{@code y = x · w}, blocks of terms, half as large</td></tr>
 * <tr><td>9 to 16</td><td>{@code yᵀ = wᵀ · xᵀ}, 30 columns, 1024 terms</td>
 * <td rowspan="2">{@code yᵀ = wᵀ · xᵀ}, 32 rows, 512 columns, 32 terms; from 96 rows on, 512 columns with all rows and terms</td></tr>
 * <tr><td>from 17</td><td>{@code yᵀ = wᵀ · xᵀ}, 32 rows, 48 columns, 512 terms</td></tr>
 * </table>
 *
 * <p>The blocks are contiguous in memory where there is a choice. From 9 rows on x is turned first, so that vectors hold
 * a column of it: 9 to 16 rows take the same time, and up to 64 rows a product is 1.2 to 1.6 times as fast as with packed
 * weights, which more than pays for turning x and y. Multiples of 6 columns are what the kernels take at a time.
 *
 * <p>Where the library has no such kernels for the machine, as without AVX-512, many rows are taken in blocks of 512
 * columns with all rows and terms.
 */
final class HostGemm {
    /** Columns of a block, and of one task. */
    static final int BLOCK = 512;

    /** Rows of one task at most: what bounds its scratch. */
    static final int ROWS = 1024;

    private static final int FEW_ROWS = 8;
    private static final long SMALL_PRODUCT = 1_000_000;
    private static final int SMALL_BLOCK = 4; // below it the calls themselves begin to show
    private static final int FEW_TERMS = 16;
    private static final int GRADIENT_BLOCK = 8;

    private final Elements elements;
    private final Blas blas;
    private final boolean smallKernels;

    HostGemm(Elements elements, Blas blas, boolean smallKernels) {
        this.elements = elements;
        this.blas = blas;
        this.smallKernels = smallKernels;
    }

    /** Whether a product with so many rows is one of few rows. */
    static boolean few(int rows, int inner) {
        return rows <= FEW_ROWS && SMALL_BLOCK * (long) rows * inner <= SMALL_PRODUCT;
    }

    /** The largest block, a multiple of 16 if possible, with {@code block · others ≤ 10⁶ / share}. */
    static int smallBlock(long others, int share) {
        long block = Math.max(SMALL_BLOCK, SMALL_PRODUCT / share / Math.max(1, others));
        return (int) Math.min(1 << 16, block < 16 ? block : block / 16 * 16);
    }

    /** {@code y = x · w (+ y)} with (rows×inner)·(inner×columns), y stored either way; x {@link #turned} where y is. */
    void product(int rows, int columns, int inner, Operand x, Operand w, boolean add, Operand y) {
        if (y.transposed()) {
            Piece.of(rows, inner, w.transposed(), smallKernels)
                    .forEach(
                            rows,
                            columns,
                            inner,
                            (r, height, c, width, k, depth) -> multiply(
                                    height,
                                    width,
                                    depth,
                                    x.fromRow(r).fromColumn(k),
                                    w.fromRow(k).fromColumn(c),
                                    add || k > 0,
                                    y.fromRow(r).fromColumn(c)));
        } else if (w.transposed()) {
            byColumns(smallBlock((long) rows * inner, 1), rows, columns, inner, x, w, add, y);
        } else {
            byTerms(smallBlock((long) rows * columns, 2), rows, columns, inner, x, w, add, y);
        }
    }

    /** Rows as a product with a transposed result wants them: transposed, too, and if they are not, in new memory. */
    Operand turned(Lease lease, int rows, int inner, Operand x) {
        if (x.transposed() || rows == 0 || inner == 0) {
            return x;
        }
        NativeBuffer into = lease.scratch((long) rows * inner * elements.bytes());
        elements.transpose(x.buffer().block(), x.at(), rows, inner, into.block(), 0, rows);
        return new Operand(into, 0, rows, true);
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
            blas.gemm(m, n, k, a, b, add, y);
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

    /** {@code y = Σ_i x_i · w_i} into a row-major y, transposed first where that is faster; the longest product decides. */
    void rowMajor(int rows, int columns, List<Term> terms, Operand y) {
        int inner = terms.stream().mapToInt(Term::inner).max().orElse(0);
        if (few(rows, inner)) {
            sum(rows, columns, terms, y);
            return;
        }
        try (Lease lease = new Lease()) {
            NativeBuffer scratch = lease.scratch((long) rows * columns * elements.bytes());
            List<Term> turned = terms.stream()
                    .map(term -> new Term(term.inner(), turned(lease, rows, term.inner(), term.x()), term.w()))
                    .toList();
            sum(rows, columns, turned, new Operand(scratch, 0, rows, true));
            NativeBlock target = y.buffer().block();
            elements.transpose(
                    scratch.block(), 0, /* rows= */ columns, /* columns= */ rows, target, y.at(), y.stride());
        }
    }

    private void sum(int rows, int columns, List<Term> terms, Operand y) {
        boolean add = false;
        for (Term term : terms) {
            product(rows, columns, term.inner(), term.x(), term.w(), add, y);
            add = true;
        }
    }
}
