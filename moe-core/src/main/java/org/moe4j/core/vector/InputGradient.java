package org.moe4j.core.vector;

import java.util.List;

/**
 * Gradients of the inputs of a product, {@code y = d · w}, on the panels of the forward product: no second copy of the weights. Lanes are
 * rows, and each sum is one chain of fused multiply-adds in the order of the columns.
 *
 * @param <A> {@code float[]} or {@code double[]}
 * @param w panels of the weights (outputs × inner)
 * @param order of the sums
 * @param columns outputs that the sums go through
 */
record InputGradient<A>(Numbers<A> numbers, Panels<A> w, List<ColumnRun> order, int columns) {
    private static final int TERMS_OF_ONE_VECTOR = 16;
    private static final int TERMS_OF_TWO = 8;

    /** Terms whose weights of one run stay in the second cache while all rows go through them. */
    private static final int TERMS = 128;

    private int lanes() {
        return numbers.panel() / 2;
    }

    /** Rows that stand side by side from one on. */
    private int width(int row, int rows) {
        return rows - row <= lanes() ? lanes() : 2 * lanes();
    }

    /**
     * Some terms of some rows.
     *
     * @param d (· × columns), in the order of the sums
     * @param y (· × inner)
     */
    void run(A d, int dRow, int rows, int fromTerm, int toTerm, A y, int yRow) {
        int side = 2 * lanes();
        int terms = toTerm - fromTerm;
        int padded = (rows - 1) / side * side + width((rows - 1) / side * side, rows);
        Scratch<A> scratch = Scratch.of(numbers);
        A x = scratch.x(padded * columns);
        int[] index = Products.consecutive(dRow, dRow + rows);
        for (int row = 0; row < rows; row += side) {
            int here = Math.min(side, rows - row);
            numbers.pack(d, columns, index, row, here, width(row, rows), x, row * columns);
        }
        A sums = scratch.hidden(padded * terms);
        numbers.fill(sums, 0, padded * terms, 0);
        int column = 0;
        for (ColumnRun run : order) {
            for (int from = fromTerm; from < toTerm; from += TERMS) {
                int to = Math.min(toTerm, from + TERMS);
                Panels.Piece<A> piece = w.piece(run.panel(), run.panels(), from, to, scratch);
                for (int row = 0; row < rows; row += side) {
                    int width = width(row, rows);
                    int xAt = row * columns + column * width;
                    int at = row * terms + (from - fromTerm) * width;
                    through(run, piece, to - from, x, xAt, width / lanes(), sums, at);
                }
            }
            column += run.terms();
        }
        for (int row = 0; row < rows; row += side) {
            int here = Math.min(side, rows - row);
            int into = (yRow + row) * w.inner() + fromTerm;
            numbers.turn(sums, row * terms, terms, width(row, rows), here, y, into, w.inner());
        }
    }

    private void through(ColumnRun run, Panels.Piece<A> piece, int terms, A x, int xAt, int vectors, A sums, int at) {
        int most = vectors == 1 ? TERMS_OF_ONE_VECTOR : TERMS_OF_TWO;
        int whole = terms - terms % most;
        through(new Numbers.TransposedTile(most, vectors, run, piece.panelStep()), 0, whole, piece, x, xAt, sums, at);
        through(new Numbers.TransposedTile(1, vectors, run, piece.panelStep()), whole, terms, piece, x, xAt, sums, at);
    }

    private void through(
            Numbers.TransposedTile shape, int from, int to, Panels.Piece<A> piece, A x, int xAt, A sums, int at) {
        int panel = numbers.panel();
        int width = shape.vectors() * lanes();
        for (int k = from; k < to; k += shape.terms()) {
            int wAt = piece.at() + k * panel + shape.run().column();
            numbers.transposedTile(shape, x, xAt, piece.values(), wAt, sums, at + k * width);
        }
    }
}
