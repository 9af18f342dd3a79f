package org.moe4j.core.vector;

import org.jspecify.annotations.Nullable;
import org.moe4j.core.vector.tile.Shapes;

/**
 * Gradients of weights, {@code y += aᵀ · b} over rows: each number of y is one chain of fused multiply-adds upwards over the rows, from
 * what was there. Both operands are packed, as rows that are far apart push each other out of the first cache.
 *
 * @param <A> {@code float[]} or {@code double[]}
 * @param a left operand, one row for each term
 * @param p its columns: rows of y
 * @param b right operand
 * @param q its columns: columns of y
 * @param index row of b for each row of a; nothing where they are the same
 */
@SuppressWarnings("ArrayRecordComponent") // read, never compared
record WeightGradient<A>(Numbers<A> numbers, A a, int p, A b, int q, int @Nullable [] index) {
    /** Columns of a that one task takes. */
    static final int COLUMNS_OF_TASK = 512;

    private static final int ROWS = 256;
    private static final int STRIPS = 4;

    int tasks() {
        return (p + COLUMNS_OF_TASK - 1) / COLUMNS_OF_TASK;
    }

    /** Adds what rows from one to another give to some rows of y. */
    void run(int task, int fromRow, int toRow, A y) {
        int from = task * COLUMNS_OF_TASK;
        int to = Math.min(p, from + COLUMNS_OF_TASK);
        for (int row = fromRow; row < toRow; row += ROWS) {
            rows(from, to, row, Math.min(toRow, row + ROWS), y);
        }
    }

    private void rows(int fromColumn, int toColumn, int fromRow, int toRow, A y) {
        int rows = toRow - fromRow;
        int panel = numbers.panel();
        int high = Shapes.ROWS;
        Scratch<A> scratch = Scratch.of(numbers);
        int tiles = (toColumn - fromColumn + high - 1) / high;
        A left = scratch.x(tiles * rows * high);
        for (int t = 0; t < tiles; t++) {
            int column = fromColumn + t * high;
            int here = Math.min(high, toColumn - column);
            numbers.strip(a, p, null, fromRow, toRow, column, here, high, left, t * rows * high);
        }
        int strips = Packing.panels(q, panel);
        A right = scratch.weights(STRIPS * rows * panel);
        for (int first = 0; first < strips; first += STRIPS) {
            int last = Math.min(strips, first + STRIPS);
            for (int s = first; s < last; s++) {
                int here = Math.min(panel, q - s * panel);
                numbers.strip(b, q, index, fromRow, toRow, s * panel, here, panel, right, (s - first) * rows * panel);
            }
            for (int t = 0; t < tiles; t++) {
                int row = fromColumn + t * high;
                int here = Math.min(high, toColumn - row);
                for (int s = first; s < last; s++) {
                    tile(rows, left, t * rows * high, here, right, (s - first) * rows * panel, row, s, scratch, y);
                }
            }
        }
    }

    /** Some rows of one strip of columns of y. */
    private void tile(
            int terms,
            A left,
            int leftAt,
            int high,
            A right,
            int rightAt,
            int row,
            int strip,
            Scratch<A> scratch,
            A y) {
        int panel = numbers.panel();
        int column = strip * panel;
        int here = Math.min(panel, q - column);
        int width;
        for (int m = 0; m < high; m += width) {
            width = Integer.highestOneBit(high - m);
            Numbers.Tile shape = new Numbers.Tile(width, 1, terms, 0);
            int at = (row + m) * q + column;
            if (here == panel) {
                numbers.tile(shape, left, leftAt + m, Shapes.ROWS, right, rightAt, panel, y, at, q);
                continue;
            }
            for (int i = 0; i < width; i++) {
                numbers.copy(y, at + i * q, scratch.tile, i * panel, here);
            }
            numbers.tile(shape, left, leftAt + m, Shapes.ROWS, right, rightAt, panel, scratch.tile, 0, panel);
            for (int i = 0; i < width; i++) {
                numbers.copy(scratch.tile, i * panel, y, at + i * q, here);
            }
        }
    }
}
