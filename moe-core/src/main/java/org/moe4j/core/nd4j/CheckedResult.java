package org.moe4j.core.nd4j;

import java.util.Arrays;
import java.util.Optional;

/** The result of a product that is checked: what was there before, and what has to be there after. */
final class CheckedResult {
    private static final double ROGUE = -1e10;
    private static final int PADDING = 5;

    private final Elements elements;
    private final BlasCheck.Case shape;
    private final double[][] sums = new double[CheckedFactor.DISTINCT * CheckedFactor.DISTINCT][];
    private final double[] before;
    private final int stride;

    CheckedResult(Elements elements, BlasCheck.Case shape, CheckedFactor left, CheckedFactor right) {
        this.elements = elements;
        this.shape = shape;
        for (int i = 0; i < sums.length; i++) {
            sums[i] = CheckedFactor.sum(left, i / CheckedFactor.DISTINCT, right, i % CheckedFactor.DISTINCT);
        }
        stride = shape.n() + PADDING;
        before = new double[(shape.m() + 1) * stride];
        Arrays.fill(before, ROGUE);
        double[] old = BlasCheck.draw(3, shape.add() ? shape.m() * shape.n() : 0, elements.bytes() == Float.BYTES);
        for (int row = 0; row < shape.m(); row++) {
            if (shape.add()) {
                System.arraycopy(old, row * shape.n(), before, row * stride, shape.n());
            } else {
                Arrays.fill(before, row * stride, row * stride + shape.n(), Double.NaN);
            }
        }
    }

    /** Memory with what is there before, and a border around it. */
    Operand stored(Lease lease) {
        NativeBuffer buffer = lease.scratch((long) before.length * elements.bytes());
        elements.write(buffer.block(), 0, before, 0, before.length);
        return Operand.of(buffer, 0, stride);
    }

    /** The first element that is not what it has to be. */
    Optional<String> fault(Operand operand) {
        double[] after = new double[before.length];
        elements.read(operand.buffer().block(), 0, after, 0, after.length);
        for (int i = 0; i < after.length; i++) {
            int row = i / stride;
            int column = i % stride;
            boolean inside = row < shape.m() && column < shape.n();
            if (inside ? !near(after[i], row, column, before[i]) : after[i] != ROGUE) {
                return Optional.of("row " + row + ", column " + column + " is " + after[i]
                        + (inside
                                ? " in place of " + expected(row, column, before[i])[0]
                                : ", but is not of the result"));
            }
        }
        return Optional.empty();
    }

    private boolean near(double actual, int row, int column, double old) {
        double[] expected = expected(row, column, old);
        double terms = (double) shape.k() * shape.times() + (shape.add() ? 1 : 0);
        double allowed = 2 * Math.sqrt(terms) * elements.unitRoundoff() * expected[2];
        return Math.abs(actual - expected[0] - expected[1]) <= allowed;
    }

    /** The value, what is lost of it to rounding, and the sum of the absolute values of its terms. */
    private double[] expected(int row, int column, double old) {
        double size = CheckedFactor.size(row) * CheckedFactor.size(column) * shape.times();
        double[] sum = sums[row % CheckedFactor.DISTINCT * CheckedFactor.DISTINCT + column % CheckedFactor.DISTINCT];
        double value = size * sum[0];
        if (!shape.add()) {
            return new double[] {value, size * sum[1], size * sum[2]};
        }
        double total = value + old;
        double had = total - old;
        double lost = size * sum[1] + (value - had) + (old - (total - had));
        return new double[] {total, lost, size * sum[2] + Math.abs(old)};
    }
}
