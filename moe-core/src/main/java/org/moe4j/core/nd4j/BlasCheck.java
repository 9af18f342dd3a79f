package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.moe4j.core.host.Workers;

/**
 * Compares products with sums that are exact to twice the precision, element by element: every transposition and shape of call that the
 * host strategy makes, both precisions, on two threads at once. No element may be farther off than {@code 2·√k·u·Σ|a||b|}; what is
 * not to be read is NaN, and what is not to be written has to stay as it was.
 */
final class BlasCheck {
    /** How a product is called. */
    enum Way {
        /** One call of the library. */
        DIRECT,
        /** {@link HostGemm#rowMajor}, twice the same term. */
        ROWS,
        /** {@link HostGemm#gradient}. */
        GRADIENT
    }

    /**
     * One product.
     *
     * @param leftTransposed how the left factor is stored
     * @param rightTransposed how the right factor is stored
     * @param add to what is there
     */
    record Case(Way way, int m, int n, int k, boolean leftTransposed, boolean rightTransposed, boolean add) {
        /** How often the product is in the result. */
        int times() {
            return way == Way.ROWS ? 2 : 1;
        }
    }

    private static final int DIRECT_KINDS = 8;
    private static final int KIND_STEP = 5;

    /** Shapes of single calls: awkward ones, and one beyond the 10⁶ multiplications from which OpenBLAS packs. */
    private static final int[][] DIRECT = {
        {1, 1, 1}, {3, 5, 7}, {8, 16, 9}, {17, 33, 31}, {31, 48, 64}, {64, 7, 130}, {2, 100, 40}, {9, 31, 257},
        {1, 2, 3}, {5, 1, 40}, {16, 8, 8}, {33, 15, 2}, {7, 65, 33}, {1, 130, 17}, {96, 104, 101}, {33, 3, 100}
    };

    /** Shapes that {@link HostGemm} cuts: few rows, 9 to 16, more in pieces of rows, columns and terms, and many. */
    private static final int[][] ROWS = {
        {1, 40, 9}, {8, 60, 130}, {9, 61, 33}, {16, 31, 130}, {33, 50, 520}, {97, 60, 20}
    };

    private static final int[][] ROWS_AS_USED = {
        {1, 40, 9}, {8, 60, 130}, {9, 61, 33}, {16, 31, 70}, {33, 50, 70}, {97, 60, 20}
    };

    private static final int[][] GRADIENTS = {{20, 33, 7}, {65, 40, 130}};

    /**
     * Longer than the blocks that OpenBLAS packs at a time: a gradient, blocks of 512 columns with all rows, one with all terms where there are
     * no kernels for small products, a gradient of many columns, and long sums of few rows.
     */
    private static final List<Case> LARGE = List.of(
            new Case(Way.GRADIENT, 260, 270, 720, true, false, false),
            new Case(Way.ROWS, 260, 520, 390, false, false, false),
            new Case(Way.ROWS, 97, 520, 710, false, true, false),
            new Case(Way.GRADIENT, 130, 1040, 390, true, false, true),
            new Case(Way.ROWS, 8, 130, 1100, false, true, false),
            new Case(Way.ROWS, 16, 90, 1100, false, true, false));

    private final Elements elements;
    private final HostProducts products;
    private final Blas blas;

    BlasCheck(Elements elements, Blas blas, Workers workers) {
        this.elements = elements;
        this.blas = blas;
        this.products = new HostProducts(elements, blas, workers);
    }

    /** What is wrong with OpenBLAS in this process. */
    static Optional<String> all(Workers workers) {
        return new BlasCheck(new FloatElements(), new FloatBlas(), workers)
                .fault()
                .or(() -> new BlasCheck(new DoubleElements(), new DoubleBlas(), workers).fault());
    }

    /** The products of one precision: 38. */
    static List<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (int i = 0; i < DIRECT.length; i++) {
            int[] s = DIRECT[i];
            int kind = i
                    * KIND_STEP
                    % (2 * DIRECT_KINDS)
                    / 2; // each of the eight kinds twice, on shapes that are not neighbours
            cases.add(new Case(Way.DIRECT, s[0], s[1], s[2], (kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0));
        }
        for (int[] s : ROWS) {
            cases.add(new Case(Way.ROWS, s[0], s[1], s[2], false, true, false));
        }
        for (int[] s : ROWS_AS_USED) {
            cases.add(new Case(Way.ROWS, s[0], s[1], s[2], false, false, false));
        }
        for (int[] s : GRADIENTS) {
            cases.add(new Case(Way.GRADIENT, s[0], s[1], s[2], true, false, false));
            cases.add(new Case(Way.GRADIENT, s[0], s[1], s[2], false, true, true));
        }
        cases.addAll(LARGE);
        return cases;
    }

    /** The first fault that is found. */
    Optional<String> fault() {
        List<Case> cases = cases();
        Queue<String> found = new ConcurrentLinkedQueue<>();
        products.run(cases.size(), Workers.SMALL, i -> {
            if (found.isEmpty()) {
                fault(cases.get(i)).ifPresent(found::add);
            }
        });
        return Optional.ofNullable(found.peek());
    }

    private Optional<String> fault(Case c) {
        CheckedFactor left = new CheckedFactor(elements, c.m(), c.k(), 2L * c.k());
        CheckedFactor right = new CheckedFactor(elements, c.n(), c.k(), 2L * c.k() + 1);
        CheckedResult result = new CheckedResult(elements, c, left, right);
        int padding = c.way() == Way.DIRECT ? 3 : 0;
        try (Lease lease = new Lease()) {
            Operand a = left.stored(lease, c.leftTransposed(), padding);
            Operand b = right.stored(lease, !c.rightTransposed(), 3).flipped();
            Operand y = result.stored(lease);
            switch (c.way()) {
                case DIRECT -> blas.gemm(c.m(), c.n(), c.k(), a, b, c.add(), y);
                case ROWS -> {
                    HostGemm.Term term = new HostGemm.Term(c.k(), a, b);
                    products.gemm().rowMajor(c.m(), c.n(), List.of(term, term), y);
                }
                case GRADIENT -> products.gemm().gradient(c.m(), c.n(), c.k(), a, b, c.add(), y);
            }
            return result.fault(y)
                    .or(() -> left.changed(a))
                    .or(() -> right.changed(b.flipped()))
                    .map(what -> (elements.bytes() == Float.BYTES ? "float32, " : "float64, ") + c + ": " + what);
        }
    }

    /** Numbers with all their bits in use, by a generator that needs no class of its own to be loaded. */
    static double[] draw(long seed, int count, boolean single) {
        double[] values = new double[count];
        long state = seed * 0x9E3779B97F4A7C15L + 1;
        for (int i = 0; i < count; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            long mixed = (state ^ (state >>> 29)) * 0xBF58476D1CE4E5B9L;
            double value = (mixed >> 10) * 0x1p-53; // −1 … 1
            values[i] = single ? (float) value : value;
        }
        return values;
    }
}
