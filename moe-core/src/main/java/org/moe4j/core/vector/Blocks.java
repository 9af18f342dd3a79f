package org.moe4j.core.vector;

import org.moe4j.core.vector.tile.Shapes;

/**
 * Rows of one group cut for the kernels: eights, and the rest in one that may be wider than the rest. Packed rows of a matrix with so
 * many columns stand block after block.
 *
 * @param rows how many
 */
record Blocks(int rows) {
    int count() {
        return (rows + Shapes.ROWS - 1) / Shapes.ROWS;
    }

    /** First row. */
    static int from(int block) {
        return block * Shapes.ROWS;
    }

    /** Rows in a block. */
    int size(int block) {
        return Math.min(Shapes.ROWS, rows - from(block));
    }

    /** Rows that its kernel computes. */
    int width(int block) {
        return Shapes.width(size(block));
    }

    /** Of the kernel of most rows. */
    int widest() {
        return width(0);
    }

    /** Rows that all kernels compute. */
    int padded() {
        return rows == 0 ? 0 : from(count() - 1) + width(count() - 1);
    }

    /** Packs rows of a matrix, those of an index list from one on. */
    <A> void pack(Numbers<A> numbers, A a, int columns, int[] index, int indexAt, A into) {
        for (int b = 0; b < count(); b++) {
            numbers.pack(a, columns, index, indexAt + from(b), size(b), width(b), into, from(b) * columns);
        }
    }
}
