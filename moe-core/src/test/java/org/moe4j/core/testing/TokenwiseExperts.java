package org.moe4j.core.testing;

/** The definition of routed SwiGLU experts on plain arrays: for each token, for each rank, one expert, weighted add. */
public final class TokenwiseExperts {
    private TokenwiseExperts() {}

    /** One expert in the layout of checkpoints: gate and up (F×D), down (D×F). */
    @SuppressWarnings("ArrayRecordComponent") // test data
    public record Expert(double[][] gate, double[][] up, double[][] down) {}

    /** One token through one expert. */
    public static double[] expert(double[] x, Expert expert) {
        int width = expert.gate().length;
        double[] hidden = new double[width];
        for (int f = 0; f < width; f++) {
            double gate = dot(expert.gate()[f], x);
            double up = dot(expert.up()[f], x);
            hidden[f] = gate / (1 + StrictMath.exp(-gate)) * up;
        }
        double[] y = new double[x.length];
        for (int d = 0; d < y.length; d++) {
            y[d] = dot(expert.down()[d], hidden);
        }
        return y;
    }

    /** {@code y_t = Σ_j weights_tj · expert_tj(x_t)}; a weight of zero counts as dropped. */
    public static double[][] routed(double[][] tokens, int[][] experts, double[][] weights, Expert[] bank) {
        double[][] y = new double[tokens.length][];
        for (int t = 0; t < tokens.length; t++) {
            y[t] = new double[tokens[t].length];
            for (int rank = 0; rank < experts[t].length; rank++) {
                double[] one = expert(tokens[t], bank[experts[t][rank]]);
                for (int d = 0; d < one.length; d++) {
                    y[t][d] += weights[t][rank] * one[d];
                }
            }
        }
        return y;
    }

    /** Inner product in index order. */
    public static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    /** Row-major numbers as rows. */
    public static double[][] rows(double[] rowMajor, int rows, int columns) {
        double[][] y = new double[rows][columns];
        for (int i = 0; i < rows; i++) {
            System.arraycopy(rowMajor, i * columns, y[i], 0, columns);
        }
        return y;
    }
}
