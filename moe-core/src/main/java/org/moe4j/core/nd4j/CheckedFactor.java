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
    private double[] stored = new double[0];

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
    }

    /** By what row i is larger than the row it is made of. */
    static double size(int row) {
        return Math.scalb(1.0, row / DISTINCT % SIZES - SIZES / 2);
    }

    /** A matrix (rows×terms) in new memory, stored either way, with something to stumble over behind each stored row. */
    Operand stored(Lease lease, boolean transposed, int padding) {
        int lines = transposed ? terms : rows;
        int length = transposed ? rows : terms;
        int stride = length + padding;
        stored = new double[lines * stride];
        for (int line = 0; line < lines; line++) {
            Arrays.fill(stored, line * stride + length, (line + 1) * stride, Double.NaN);
        }
        for (int r = 0; r < rows; r++) {
            store(r, transposed ? r : r * stride, transposed ? stride : 1);
        }
        NativeBuffer buffer = lease.scratch((long) stored.length * elements.bytes());
        elements.write(buffer.block(), 0, stored, 0, stored.length);
        return new Operand(buffer, 0, stride, transposed);
    }

    /** A method of its own, so that the compiler takes it on after some rows. */
    private void store(int row, int at, int step) {
        double size = size(row);
        int from = row % DISTINCT * terms;
        for (int k = 0; k < terms; k++) {
            stored[at + k * step] = size * values[from + k];
        }
    }

    /** Whether the memory still has what was stored. */
    Optional<String> changed(Operand operand) {
        double[] now = new double[stored.length];
        elements.read(operand.buffer().block(), 0, now, 0, now.length);
        return Arrays.equals(now, stored) ? Optional.empty() : Optional.of("a factor was changed");
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
