package org.moe4j.core.nd4j;

import java.util.Arrays;
import java.util.Optional;

/** The result of a product that is checked: what was there before, and what has to be there after. */
final class CheckedResult {
    private static final double ROGUE = -1e10;
    private static final int PADDING = 5;
    private static final int DISTINCT = CheckedFactor.DISTINCT;

    private final Elements elements;
    private final BlasCheck.Case shape;
    private final double[] sums = new double[DISTINCT * DISTINCT];
    private final double[] lost = new double[sums.length]; // of the sums to rounding
    private final double[] gauges = new double[sums.length]; // sums of the absolute values of the terms
    private final double[] rowSizes;
    private final double[] columnSizes;
    private final double[] old;
    private final double tolerance;
    private final int stride;

    CheckedResult(Elements elements, BlasCheck.Case shape, CheckedFactor left, CheckedFactor right) {
        this.elements = elements;
        this.shape = shape;
        for (int i = 0; i < sums.length; i++) {
            double[] sum = CheckedFactor.sum(left, i / DISTINCT, right, i % DISTINCT);
            sums[i] = sum[0];
            lost[i] = sum[1];
            gauges[i] = sum[2];
        }
        rowSizes = new double[shape.m()];
        Arrays.setAll(rowSizes, row -> shape.times() * left.size(row));
        columnSizes = new double[shape.n()];
        Arrays.setAll(columnSizes, right::size);
        old = BlasCheck.draw(3, shape.add() ? shape.m() * shape.n() : 0, elements.bytes() == Float.BYTES);
        double terms = (double) shape.k() * shape.times() + (shape.add() ? 1 : 0);
        tolerance = 2 * Math.sqrt(terms) * elements.unitRoundoff();
        stride = shape.n() + PADDING;
    }

    /** Memory with what is there before, and a border around it. */
    Operand stored(Lease lease) {
        NativeBuffer buffer = lease.scratch((shape.m() + 1L) * stride * elements.bytes());
        double[] line = new double[stride];
        Arrays.fill(line, 0, shape.n(), Double.NaN);
        Arrays.fill(line, shape.n(), stride, ROGUE);
        for (int row = 0; row < shape.m(); row++) {
            if (shape.add()) {
                System.arraycopy(old, row * shape.n(), line, 0, shape.n());
            }
            elements.write(buffer.block(), (long) row * stride, line, 0, stride);
        }
        Arrays.fill(line, ROGUE);
        elements.write(buffer.block(), (long) shape.m() * stride, line, 0, stride);
        return Operand.of(buffer, 0, stride);
    }

    /** The first element that is not what it has to be. */
    Optional<String> fault(Operand operand) {
        double[] line = new double[stride];
        for (int row = 0; row <= shape.m(); row++) {
            elements.read(operand.buffer().block(), (long) row * stride, line, 0, stride);
            int inside = row < shape.m() ? shape.n() : 0;
            int wrong = inside == 0 ? 0 : shape.add() ? firstWrongSum(line, row) : firstWrong(line, row);
            if (wrong < inside) {
                int kind = row % DISTINCT * DISTINCT + wrong % DISTINCT;
                double value = rowSizes[row] * columnSizes[wrong] * sums[kind];
                double expected = shape.add() ? value + old[row * shape.n() + wrong] : value;
                return Optional.of(place(row, wrong, line) + " in place of " + expected);
            }
            for (int column = inside; column < stride; column++) {
                if (line[column] != ROGUE) {
                    return Optional.of(place(row, column, line) + ", but is not of the result");
                }
            }
        }
        return Optional.empty();
    }

    private static String place(int row, int column, double[] line) {
        return "row " + row + ", column " + column + " is " + line[column];
    }

    /** The first column that is farther off than the bound, or the number of columns. */
    private int firstWrong(double[] line, int row) {
        int base = row % DISTINCT * DISTINCT;
        for (int column = 0, kind = base; column < columnSizes.length; column++) {
            double size = rowSizes[row] * columnSizes[column];
            double off = line[column] - size * sums[kind] - size * lost[kind];
            if (!(Math.abs(off) <= tolerance * size * gauges[kind])) {
                return column;
            }
            kind = kind - base == DISTINCT - 1 ? base : kind + 1;
        }
        return columnSizes.length;
    }

    /** The same where the product was added to what was there. */
    private int firstWrongSum(double[] line, int row) {
        for (int column = 0; column < columnSizes.length; column++) {
            int kind = row % DISTINCT * DISTINCT + column % DISTINCT;
            double size = rowSizes[row] * columnSizes[column];
            double value = size * sums[kind];
            double was = old[row * columnSizes.length + column];
            double total = value + was;
            double had = total - was;
            double off = line[column] - total - (size * lost[kind] + (value - had) + (was - (total - had)));
            if (!(Math.abs(off) <= tolerance * (size * gauges[kind] + Math.abs(was)))) {
                return column;
            }
        }
        return columnSizes.length;
    }
}
