package org.moe4j.merge.rewrite;

import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;

/** Matrices made of pieces of others, row by row: nothing is rounded, and nothing larger than a row stands on the way. */
final class Pieces {
    private Pieces() {}

    /** Some columns of a row of a matrix. */
    private record Piece(Matrix matrix, int row, int column, int count) {}

    /** What each row of the result is made of, from left to right. */
    private interface Layout {
        List<Piece> row(int row);
    }

    /** The matrices below one another. */
    static Matrix below(List<Matrix> parts) {
        int columns = parts.get(0).columns();
        int rows = parts.stream().mapToInt(Matrix::rows).sum();
        return parts.get(0).backend().matrix(rows, columns, source(row -> {
            int j = 0;
            int from = row;
            while (from >= parts.get(j).rows()) {
                from -= parts.get(j++).rows();
            }
            return List.of(new Piece(parts.get(j), from, 0, columns));
        }));
    }

    /** The matrices side by side. */
    static Matrix beside(List<Matrix> parts) {
        int columns = parts.stream().mapToInt(Matrix::columns).sum();
        return parts.get(0)
                .backend()
                .matrix(
                        parts.get(0).rows(),
                        columns,
                        source(row -> parts.stream()
                                .map(part -> new Piece(part, row, 0, part.columns()))
                                .toList()));
    }

    /** So many rows of a matrix. */
    static Matrix rows(Matrix whole, int from, int count) {
        return whole.backend()
                .matrix(
                        count,
                        whole.columns(),
                        source(row -> List.of(new Piece(whole, from + row, 0, whole.columns()))));
    }

    /** So many columns of a matrix. */
    static Matrix columns(Matrix whole, int from, int count) {
        return whole.backend().matrix(whole.rows(), count, source(row -> List.of(new Piece(whole, row, from, count))));
    }

    /** All of a matrix, in memory of its own. */
    static Matrix copy(Matrix whole) {
        return rows(whole, 0, whole.rows());
    }

    /** Another handle on a matrix, whose values must not change with those of a buffer. */
    static Matrix lasting(Matrix matrix) {
        return matrix.isBuffer() ? copy(matrix) : matrix.share();
    }

    private static RowSource source(Layout layout) {
        return new RowSource() {
            @Override
            public void read(int row, float[] into) {
                int at = 0;
                for (Piece piece : layout.row(row)) {
                    float[] whole = new float[piece.matrix.columns()];
                    piece.matrix.readRows(piece.row, piece.row + 1, whole);
                    System.arraycopy(whole, piece.column, into, at, piece.count);
                    at += piece.count;
                }
            }

            @Override
            public void read(int row, double[] into) {
                int at = 0;
                for (Piece piece : layout.row(row)) {
                    double[] whole = new double[piece.matrix.columns()];
                    piece.matrix.readRows(piece.row, piece.row + 1, whole);
                    System.arraycopy(whole, piece.column, into, at, piece.count);
                    at += piece.count;
                }
            }
        };
    }
}
