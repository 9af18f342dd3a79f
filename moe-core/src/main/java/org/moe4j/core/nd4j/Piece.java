package org.moe4j.core.nd4j;

/**
 * What one call of OpenBLAS computes of a product with many rows, at most; see {@link HostGemm} for the sizes.
 *
 * @param rows of x and y
 * @param columns of w and y
 * @param terms of each sum
 */
record Piece(int rows, int columns, int terms) {
    private static final int WHOLE = Integer.MAX_VALUE;
    private static final int MANY_ROWS = 96;

    /** Where a piece lies, and its rows, columns and terms. */
    interface Place {
        void run(int row, int rows, int column, int columns, int term, int terms);
    }

    static Piece of(int rows, int inner, boolean transposedWeights, boolean smallKernels) {
        if (!smallKernels || (!transposedWeights && rows >= MANY_ROWS)) {
            return new Piece(WHOLE, HostGemm.BLOCK, WHOLE);
        }
        if (!transposedWeights) {
            return new Piece(32, HostGemm.BLOCK, 32);
        }
        return rows <= 16 ? new Piece(16, 30, 1024) : new Piece(32, 48, 512);
    }

    /** All pieces: block of columns by block, and of one piece of y the terms in order. */
    void forEach(int allRows, int allColumns, int allTerms, Place place) {
        for (int c = 0; c < allColumns; c += Math.min(columns, allColumns - c)) {
            int width = Math.min(columns, allColumns - c);
            for (int r = 0; r < allRows; r += Math.min(rows, allRows - r)) {
                int height = Math.min(rows, allRows - r);
                place.run(r, height, c, width, 0, Math.min(terms, allTerms)); // of no terms, too: zeros
                for (int k = terms; k < allTerms; k += terms) {
                    place.run(r, height, c, width, k, Math.min(terms, allTerms - k));
                }
            }
        }
    }
}
