package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.StoredTensor;

/**
 * The rows of a matrix in a file, one for each token.
 *
 * @param file for messages
 * @param name of the tensor, for messages
 * @param tensor that holds them
 * @param first number of the tensor that belongs to the matrix
 * @param columns numbers of a row
 * @param kept which rows are tokens
 */
record StoredRows(Path file, String name, StoredTensor tensor, long first, int columns, KeptRows kept) {
    /** A matrix whose shape was found to be in order; all rows are tokens. */
    static StoredRows of(Path file, String name, StoredTensor tensor, long first, long rows, long columns)
            throws IOException {
        if (columns < 1 || columns > TraceFormat.MOST_EXPERTS) {
            throw TraceFormat.wrong(
                    file,
                    name,
                    "1.." + TraceFormat.MOST_EXPERTS + " columns (experts)",
                    "shape " + tensor.info().shape());
        }
        return new StoredRows(file, name, tensor, first, (int) columns, KeptRows.all(rows));
    }

    ElementType type() {
        return tensor.info().type();
    }

    StoredRows masked(KeptRows mask) {
        return new StoredRows(file, name, tensor, first, columns, mask);
    }

    long tokens() {
        return kept.count();
    }

    void read(long from, int count, int[] into) {
        Objects.checkFromIndexSize(from, (long) count, tokens());
        kept.forEachRun(
                from,
                count,
                (row, rows, done) -> tensor.read(first + row * columns, into, done * columns, rows * columns));
    }

    /** Reads numbers that have to be finite. */
    void read(long from, int count, double[] into) {
        Objects.checkFromIndexSize(from, (long) count, tokens());
        kept.forEachRun(
                from,
                count,
                (row, rows, done) -> tensor.read(first + row * columns, into, done * columns, rows * columns));
        int numbers = count * columns;
        double zero = 0; // stays 0 unless a number is infinite or NaN
        for (int i = 0; i < numbers; i++) {
            zero += into[i] * 0;
        }
        for (int i = 0; zero != 0 && i < numbers; i++) {
            if (!Double.isFinite(into[i])) {
                throw new ArithmeticException(file + ": " + name + ": expected finite values but "
                        + token(from + i / columns) + ", column " + i % columns + " has " + into[i]);
            }
        }
    }

    /** A token in messages: its row in the file. */
    String token(long token) {
        return "token " + kept.row(token);
    }

    /** A whole number as it is stored, also where {@code int} does not hold it. */
    long number(long token, int column) {
        double[] one = new double[1];
        tensor.read(first + kept.row(token) * columns + column, one, 0, 1);
        return (long) one[0];
    }
}
