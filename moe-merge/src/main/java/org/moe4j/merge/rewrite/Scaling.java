package org.moe4j.merge.rewrite;

import java.util.OptionalLong;
import java.util.function.DoubleUnaryOperator;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;

/** A function of each element of a matrix, in double precision and rounded once, row by row. */
final class Scaling {
    private Scaling() {}

    /**
     * The matrix of the results, all of them finite.
     *
     * @param name of the matrix in messages
     * @param operation what is done to an element, in words after "stay finite"
     */
    static Matrix of(String name, Matrix matrix, String operation, DoubleUnaryOperator operator) {
        try (Unfinished made = new Unfinished()) {
            Matrix result =
                    made.add(matrix.backend().matrix(matrix.rows(), matrix.columns(), source(matrix, operator)));
            OptionalLong bad = matrix.backend().firstNonFinite(result);
            if (bad.isPresent()) {
                int row = (int) (bad.getAsLong() / matrix.columns());
                int column = (int) (bad.getAsLong() % matrix.columns());
                throw Require.expected(
                        name,
                        "numbers that stay finite " + operation,
                        matrix.get(row, column) + " in row " + row + ", column " + column);
            }
            made.keep();
            return result;
        }
    }

    private static RowSource source(Matrix matrix, DoubleUnaryOperator operator) {
        return new RowSource() {
            @Override
            public void read(int row, float[] into) {
                matrix.readRows(row, row + 1, into);
                for (int i = 0; i < into.length; i++) {
                    into[i] = (float) operator.applyAsDouble(into[i]);
                }
            }

            @Override
            public void read(int row, double[] into) {
                matrix.readRows(row, row + 1, into);
                for (int i = 0; i < into.length; i++) {
                    into[i] = operator.applyAsDouble(into[i]);
                }
            }
        };
    }

    /** What storing does to a number. */
    static DoubleUnaryOperator rounding(Backend backend) {
        return backend.unitRoundoff() > 0x1p-53 ? value -> (float) value : value -> value;
    }
}
