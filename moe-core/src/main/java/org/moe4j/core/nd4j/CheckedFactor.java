package org.moe4j.core.nd4j;

import java.util.Arrays;
import java.util.Optional;

/**
 * One factor of a product that is checked, row after row of terms. There are only a few different rows, in many sizes: row i is row
 * {@code i mod 5} times a power of two, so that all elements of a product are exactly known from 25 sums.
 */
final class CheckedFactor {
    static final int DISTINCT = 5;

    private static final int SIZES = 11;
    private static final double SPLIT = 0x1p27 + 1;

    private final Elements elements;
    private final int rows;
    private final int terms;
    private final double[] values;
    private final double[] high; // the upper half of each value's digits, so that products of halves are exact
    private final double[] sizes;

    CheckedFactor(Elements elements, int rows, int terms, long seed) {
        this.elements = elements;
        this.rows = rows;
        this.terms = terms;
        values = BlasCheck.draw(seed, DISTINCT * terms, elements.bytes() == Float.BYTES);
        high = new double[values.length];
        for (int i = 0; i < values.length; i++) {
            double scaled = SPLIT * values[i];
            high[i] = scaled - (scaled - values[i]);
        }
        sizes = sizes(rows);
    }

    /** By what each row is larger than the row it is made of; in no order, so that rows of two blocks are never the same. */
    private static double[] sizes(int rows) {
        double[] sizes = new double[rows];
        for (int row = 0; row < rows; row++) {
            int mixed = (row * 0x9E3779B1) >>> 16;
            sizes[row] = Math.scalb(1.0, mixed % SIZES - SIZES / 2);
        }
        return sizes;
    }

    /** By what row i is larger than the row it is made of. */
    double size(int row) {
        return sizes[row];
    }

    /** A matrix (rows×terms) in new memory, stored either way, with something to stumble over behind each stored row. */
    Operand stored(Lease lease, boolean transposed, int padding) {
        int lines = transposed ? terms : rows;
        int stride = (transposed ? rows : terms) + padding;
        NativeBuffer buffer = lease.scratch((long) lines * stride * elements.bytes());
        double[] line = new double[stride];
        for (int i = 0; i < lines; i++) {
            fill(line, i, transposed);
            elements.write(buffer.block(), (long) i * stride, line, 0, stride);
        }
        return new Operand(buffer, 0, stride, transposed);
    }

    /** Whether the memory still has what was stored. */
    Optional<String> changed(Operand operand) {
        int lines = operand.transposed() ? terms : rows;
        double[] line = new double[operand.stride()];
        double[] now = new double[line.length];
        for (int i = 0; i < lines; i++) {
            fill(line, i, operand.transposed());
            elements.read(operand.buffer().block(), (long) i * line.length, now, 0, now.length);
            if (!Arrays.equals(now, line)) {
                return Optional.of("a factor was changed");
            }
        }
        return Optional.empty();
    }

    /** One row as it is stored, and what is behind it. */
    private void fill(double[] line, int at, boolean transposed) {
        if (transposed) {
            fillAcross(line, at);
        } else {
            fillAlong(line, at);
        }
        Arrays.fill(line, transposed ? rows : terms, line.length, Double.NaN);
    }

    private void fillAcross(double[] line, int term) {
        for (int row = 0, from = term; row < rows; row++) {
            line[row] = sizes[row] * values[from];
            from += terms;
            from = from < values.length ? from : term;
        }
    }

    private void fillAlong(double[] line, int row) {
        double size = sizes[row];
        int from = row % DISTINCT * terms;
        for (int k = 0; k < terms; k++) {
            line[k] = size * values[from + k];
        }
    }

    /** {@code Σ a_k b_k} of two of the different rows, as good as with twice the digits, and behind it {@code Σ |a_k b_k|}. */
    static double[] sum(CheckedFactor a, int aRow, CheckedFactor b, int bRow) {
        double sum = 0;
        double lost = 0;
        double gauge = 0;
        int at = aRow * a.terms;
        int bt = bRow * a.terms;
        for (int k = 0; k < a.terms; k++, at++, bt++) {
            double product = a.values[at] * b.values[bt];
            double aLow = a.values[at] - a.high[at];
            double bLow = b.values[bt] - b.high[bt];
            double next = sum + product;
            double had = next - product;
            lost += a.high[at] * b.high[bt]
                    - product
                    + a.high[at] * bLow
                    + aLow * b.high[bt]
                    + aLow * bLow
                    + (sum - had)
                    + (product - (next - had));
            sum = next;
            gauge += Math.abs(product);
        }
        return new double[] {sum, lost, gauge};
    }
}
