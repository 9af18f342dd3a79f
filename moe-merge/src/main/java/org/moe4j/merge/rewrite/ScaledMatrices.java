package org.moe4j.merge.rewrite;

import java.util.function.ToDoubleFunction;
import org.moe4j.core.backend.Matrix;
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

    /** The product in double, rounded once to the backend's precision; for a factor of 1 the same values. */
    private static Matrix of(String name, Matrix matrix, double factor) {
        return factor == 1
                ? Pieces.lasting(matrix)
                : Scaling.of(name, matrix, "times " + factor, value -> value * factor);
    }
}
