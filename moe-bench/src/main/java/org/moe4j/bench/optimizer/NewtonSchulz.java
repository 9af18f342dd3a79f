package org.moe4j.bench.optimizer;

/**
 * The iteration by which Muon makes singular values about 1 without a decomposition.
 *
 * <p>{@code X₀ = A / (‖A‖ + ε)} with the Frobenius norm, then {@code X = a·X + (b·XXᵀ + c·(XXᵀ)²)·X} with
 * {@code a = 3.4445, b = −4.7750, c = 2.0315}. With {@code A = UΣVᵀ} the result is {@code U·p(p(…p(Σ/(‖A‖ + ε))))·Vᵀ} with
 * {@code p(s) = a·s + b·s³ + c·s⁵}: near the polar factor {@code UVᵀ}, since p takes all of 0.22..1.21 to between its local
 * minimum 0.6818 and its local maximum 1.2024, and multiplies what is smaller by up to 3.4445. It does not converge to 1.
 * Tall matrices are transposed, so that the smaller of both squares is multiplied.
 *
 * @see <a href="https://kellerjordan.github.io/posts/muon/">Jordan et al., Muon: An optimizer for hidden layers</a>
 */
final class NewtonSchulz {
    private static final double A = 3.4445;
    private static final double B = -4.7750;
    private static final double C = 2.0315;

    private NewtonSchulz() {}

    /**
     * Some iterations from a matrix.
     *
     * @param matrix (rows×columns), row by row; kept as it is
     * @param columns at least 1
     * @param iterations at least 0
     * @param epsilon at least 0
     * @return (rows×columns); zeros for zeros
     */
    static double[] iterate(double[] matrix, int columns, int iterations, double epsilon) {
        int rows = matrix.length / columns;
        double norm = Math.sqrt(dot(matrix, 0, matrix, 0, matrix.length));
        if (norm == 0) {
            return matrix.clone();
        }
        boolean tall = rows > columns;
        double[] x = tall ? transposed(matrix, columns) : matrix.clone();
        for (int i = 0; i < x.length; i++) {
            x[i] /= norm + epsilon;
        }
        for (int i = 0; i < iterations; i++) {
            x = step(x, tall ? columns : rows);
        }
        return tall ? transposed(x, rows) : x;
    }

    private static double[] step(double[] x, int rows) {
        int columns = x.length / rows;
        double[] gram = timesTransposed(x, rows, x, rows, columns);
        double[] polynomial = timesTransposed(gram, rows, gram, rows, rows); // symmetric
        for (int i = 0; i < gram.length; i++) {
            polynomial[i] = B * gram[i] + C * polynomial[i];
        }
        double[] next = timesTransposed(polynomial, rows, transposed(x, columns), columns, rows);
        for (int i = 0; i < x.length; i++) {
            next[i] += A * x[i];
        }
        return next;
    }

    /** {@code left·rightᵀ}, both with as many columns. */
    private static double[] timesTransposed(double[] left, int rows, double[] right, int rightRows, int columns) {
        double[] product = new double[rows * rightRows];
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < rightRows; j++) {
                product[i * rightRows + j] = dot(left, i * columns, right, j * columns, columns);
            }
        }
        return product;
    }

    private static double dot(double[] left, int from, double[] right, int rightFrom, int length) {
        double sum = 0;
        for (int k = 0; k < length; k++) {
            sum += left[from + k] * right[rightFrom + k];
        }
        return sum;
    }

    private static double[] transposed(double[] matrix, int columns) {
        int rows = matrix.length / columns;
        double[] turned = new double[matrix.length];
        for (int i = 0; i < matrix.length; i++) {
            turned[i % columns * rows + i / columns] = matrix[i];
        }
        return turned;
    }
}
