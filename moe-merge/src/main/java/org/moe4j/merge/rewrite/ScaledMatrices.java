package org.moe4j.merge.rewrite;

import java.util.OptionalLong;
import java.util.function.ToDoubleFunction;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/** Matrices times a factor each. */
final class ScaledMatrices {
    private ScaledMatrices() {}

    /**
     * A set with each matrix times the factor of its name, all of them handles of the caller.
     *
     * @throws IllegalArgumentException when a number is not finite afterwards
     */
    static Parameters of(Parameters parameters, ToDoubleFunction<String> factors) {
        try (Unfinished made = new Unfinished()) {
            Parameters scaled =
                    parameters.map((name, matrix) -> made.add(of(name, matrix, factors.applyAsDouble(name))));
            made.keep();
            return scaled;
        }
    }

    /** The product in double, rounded once to the backend's precision; for a factor of 1 another handle. */
    private static Matrix of(String name, Matrix matrix, double factor) {
        if (factor == 1) {
            return matrix.share();
        }
        double[] values = matrix.toArray();
        Matrix scaled = matrix.backend().matrix(matrix.rows(), matrix.columns(), rows(values, factor));
        OptionalLong bad = matrix.backend().firstNonFinite(scaled);
        if (bad.isPresent()) {
            scaled.close();
            int at = (int) bad.getAsLong();
            throw Require.expected(
                    name,
                    "numbers that stay finite times " + factor,
                    values[at] + " in row " + at / matrix.columns() + ", column " + at % matrix.columns());
        }
        return scaled;
    }

    private static RowSource rows(double[] values, double factor) {
        return new RowSource() {
            @Override
            public void read(int row, float[] into) {
                for (int i = 0; i < into.length; i++) {
                    into[i] = (float) (values[row * into.length + i] * factor);
                }
            }

            @Override
            public void read(int row, double[] into) {
                for (int i = 0; i < into.length; i++) {
                    into[i] = values[row * into.length + i] * factor;
                }
            }
        };
    }
}
