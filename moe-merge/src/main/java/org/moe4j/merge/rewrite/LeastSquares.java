package org.moe4j.merge.rewrite;

import org.apache.commons.math3.linear.Array2DRowRealMatrix;
import org.apache.commons.math3.linear.BlockRealMatrix;
import org.apache.commons.math3.linear.DecompositionSolver;
import org.apache.commons.math3.linear.QRDecomposition;
import org.apache.commons.math3.linear.RealMatrix;

/**
 * {@code min_W ‖H·W − Y‖_F / ‖Y‖_F} by Householder's QR of H with unit columns above a ridge, {@code [H; δI]}, and one step of
 * refinement.
 *
 * <p>The ridge gives columns that depend on others, or are zero, full rank without telling them apart first. In a direction in which H
 * has the singular value σ it leaves {@code (δ²/(σ² + δ²))²} of Y after the refinement, which is rounding for σ above 1e-5, and all of
 * Y for σ far below δ. What it lets through of rounding, {@code u/δ²} times that direction, is of size {@code u/δ} in the residual.
 * {@code δ = 2⁻³⁰} makes both small. Singular values, which would show the rank, take minutes for a thousand columns; the pivoted QR of
 * Commons Math 3.6.1 compares columns by their whole norm, which no reflection changes, and so shows no rank.
 */
final class LeastSquares {
    private static final double RIDGE = 0x1p-30;

    private LeastSquares() {}

    /** The residual of H (T×n) for Y (T×D), T ≥ n; 0 where Y is 0. */
    static double residual(double[][] h, double[][] y) {
        double largest = largest(y);
        if (largest == 0) {
            return 0;
        }
        int columns = h[0].length;
        RealMatrix unit = new BlockRealMatrix(unitColumns(h, columns));
        DecompositionSolver solver = new QRDecomposition(aboveRidge(unit, columns)).getSolver();
        double inverse = Math.min(1 / largest, Double.MAX_VALUE); // 1/largest is infinite for most subnormal numbers
        RealMatrix whole = new BlockRealMatrix(y).scalarMultiply(inverse);
        RealMatrix rest = whole;
        for (int step = 0; step < 2; step++) {
            RealMatrix padded = new Array2DRowRealMatrix(h.length + columns, whole.getColumnDimension());
            padded.setSubMatrix(rest.getData(), 0, 0);
            rest = rest.subtract(unit.multiply(solver.solve(padded)));
        }
        return rest.getFrobeniusNorm() / whole.getFrobeniusNorm();
    }

    private static double largest(double[][] y) {
        double largest = 0;
        for (double[] row : y) {
            for (double value : row) {
                largest = Math.max(largest, Math.abs(value));
            }
        }
        return largest;
    }

    /** A copy whose columns have norm 1, but for those that are zero. */
    private static double[][] unitColumns(double[][] h, int columns) {
        double[] largest = new double[columns];
        for (double[] row : h) {
            for (int i = 0; i < columns; i++) {
                largest[i] = Math.max(largest[i], Math.abs(row[i]));
            }
        }
        double[] squares = new double[columns];
        double[][] unit = new double[h.length][columns];
        for (int t = 0; t < h.length; t++) {
            for (int i = 0; i < columns; i++) {
                unit[t][i] = largest[i] == 0 ? 0 : h[t][i] / largest[i];
                squares[i] += unit[t][i] * unit[t][i];
            }
        }
        for (double[] row : unit) {
            for (int i = 0; i < columns; i++) {
                row[i] = squares[i] == 0 ? 0 : row[i] / Math.sqrt(squares[i]);
            }
        }
        return unit;
    }

    private static RealMatrix aboveRidge(RealMatrix unit, int columns) {
        RealMatrix all = new Array2DRowRealMatrix(unit.getRowDimension() + columns, columns);
        all.setSubMatrix(unit.getData(), 0, 0);
        for (int i = 0; i < columns; i++) {
            all.setEntry(unit.getRowDimension() + i, i, RIDGE);
        }
        return all;
    }
}
