package org.moe4j.core.nd4j;

import java.util.Arrays;
import java.util.OptionalLong;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.host.Workers;

/** Work on rows and on elements, cut into pieces of about the same size that depend on the shapes only. */
final class HostRows {
    private static final int PIECE = 1 << 16; // elements, about 50 µs

    private final Elements elements;
    private final Workers workers;

    HostRows(Elements elements, Workers workers) {
        this.elements = elements;
        this.workers = workers;
    }

    /** Rows from … to − 1. */
    interface RowRange {
        void run(int from, int to);
    }

    /** So many elements from an index on. */
    interface Stretch {
        void run(long at, int count);
    }

    void forRows(int rows, long costPerRow, RowRange range) {
        int perPiece = (int) Math.max(1, Math.min(Math.max(1, rows), PIECE / Math.max(1, costPerRow)));
        int pieces = (int) (((long) rows + perPiece - 1) / perPiece);
        workers.forEach(pieces, Cost.elements(rows * costPerRow), piece -> {
            int from = piece * perPiece;
            range.run(from, (int) Math.min(rows, (long) from + perPiece));
        });
    }

    /** All elements of a matrix, regardless of its rows. */
    void forStretches(Matrix shape, Stretch stretch) {
        long count = (long) shape.rows() * shape.columns();
        int pieces = Math.toIntExact((count + PIECE - 1) / PIECE);
        workers.forEach(pieces, Cost.elements(count), piece -> {
            long at = (long) piece * PIECE;
            stretch.run(at, (int) Math.min(PIECE, count - at));
        });
    }

    /** {@code y_i = a[rows_(from + i)]}. */
    void gather(NativeBuffer a, int columns, int[] rows, int from, int to, NativeBuffer y) {
        forRows(to - from, columns, (first, end) -> {
            for (int i = first; i < end; i++) {
                elements.copy(a.block(), (long) rows[from + i] * columns, y.block(), (long) i * columns, columns);
            }
        });
    }

    void sum(NativeBuffer a, int columns, int[] rows, double[] scales, int perRow, NativeBuffer y) {
        if (Arrays.stream(rows).allMatch(row -> row < 0)) {
            forRows(rows.length / perRow, columns, (from, to) -> zeroRows(from, to, columns, y));
            return;
        }
        forRows(rows.length / perRow, (long) columns * perRow, (from, to) -> {
            for (int t = from; t < to; t++) {
                elements.sumRows(
                        a.block(), columns, rows, scales, t * perRow, (t + 1) * perRow, y.block(), (long) t * columns);
            }
        });
    }

    private void zeroRows(int from, int to, int columns, NativeBuffer y) {
        double[] zeros = new double[columns];
        for (int t = from; t < to; t++) {
            elements.write(y.block(), (long) t * columns, zeros, 0, columns);
        }
    }

    void scale(NativeBuffer a, int columns, double[] scales, NativeBuffer y) {
        forRows(scales.length, columns, (from, to) -> {
            for (int i = from; i < to; i++) {
                long at = (long) i * columns;
                elements.scale(a.block(), at, scales[i], y.block(), at, columns);
            }
        });
    }

    double[] dots(NativeBuffer a, NativeBuffer b, int rows, int columns) {
        double[] y = new double[rows];
        if (columns > 0) {
            forRows(rows, columns, (from, to) -> {
                for (int i = from; i < to; i++) {
                    long at = (long) i * columns;
                    y[i] = elements.dot(a.block(), at, b.block(), at, columns);
                }
            });
        }
        return y;
    }

    OptionalLong firstNonFinite(NativeBuffer a, long count) {
        for (long at = 0; at < count; at += PIECE) {
            int found = elements.firstNonFinite(a.block(), at, (int) Math.min(PIECE, count - at));
            if (found >= 0) {
                return OptionalLong.of(at + found);
            }
        }
        return OptionalLong.empty();
    }
}
