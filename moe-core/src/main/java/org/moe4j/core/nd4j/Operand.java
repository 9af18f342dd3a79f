package org.moe4j.core.nd4j;

/**
 * A matrix as a product sees it: where it starts, how far apart its stored rows are, and whether it is stored
 * transposed. Rows and columns are those of the matrix, not those of the storage.
 */
record Operand(NativeBuffer buffer, long at, int stride, boolean transposed) {
    /** A row-major matrix. */
    static Operand of(NativeBuffer buffer, long at, int columns) {
        return new Operand(buffer, at, columns, false);
    }

    /** The matrix from the given row on. */
    Operand fromRow(long row) {
        return new Operand(buffer, at + (transposed ? row : row * stride), stride, transposed);
    }

    /** The matrix from the given column on. */
    Operand fromColumn(long column) {
        return new Operand(buffer, at + (transposed ? column * stride : column), stride, transposed);
    }

    /** The operand from a row of its storage on, which is a column where it is stored transposed. */
    Operand storedRow(long row) {
        return new Operand(buffer, at + row * stride, stride, transposed);
    }

    /** The transpose, without moving anything. */
    Operand flipped() {
        return new Operand(buffer, at, stride, !transposed);
    }
}
