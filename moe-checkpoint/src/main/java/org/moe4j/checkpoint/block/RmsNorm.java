package org.moe4j.checkpoint.block;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/**
 * Root mean square norm: {@code y_j = x_j · (c + w_j) / √(mean(x²) + ε)} with an offset c of 0, or of 1 where a family stores the
 * weight less one.
 *
 * <p>Sums are in {@code double} on every backend; each element of a result is rounded once. Source: B. Zhang and R. Sennrich,
 * Root Mean Square Layer Normalization, 2019, Equation 4.
 */
public final class RmsNorm implements AutoCloseable {
    /** Name of the weight (1×D) among {@link #parameters} and gradients. */
    public static final String WEIGHT = "weight";

    private final Matrix weight;
    private final double[] factors; // c + w
    private final double epsilon;
    private final double offset;

    private RmsNorm(Matrix weight, double epsilon, double offset) {
        this.weight = weight;
        this.epsilon = epsilon;
        this.offset = offset;
        factors = weight.toArray();
        for (int j = 0; j < factors.length; j++) {
            factors[j] += offset;
        }
    }

    /**
     * A norm.
     *
     * @param weight (1×D); the handle stays the caller's and may be closed
     * @param epsilon ε, at least 0
     * @param offset c
     * @return the norm, with a handle of its own
     * @throws IllegalArgumentException for a weight that is not one row, an epsilon that is not finite and at least 0, or an
     *     offset that is not finite
     */
    public static RmsNorm of(Matrix weight, double epsilon, double offset) {
        Require.count("weight.rows", weight.rows(), 1, "row");
        Require.atLeast("weight.columns", weight.columns(), 1);
        if (!(epsilon >= 0) || Double.isInfinite(epsilon)) {
            throw Require.expected("epsilon", "a finite number of at least 0", epsilon);
        }
        Require.finite("offset", offset);
        return new RmsNorm(weight.share(), epsilon, offset);
    }

    /**
     * Width of the tokens.
     *
     * @return D
     */
    public int width() {
        return factors.length;
    }

    /**
     * What is added to the mean square.
     *
     * @return ε
     */
    public double epsilon() {
        return epsilon;
    }

    /**
     * What is added to the weight.
     *
     * @return c
     */
    public double offset() {
        return offset;
    }

    /**
     * The weight; the handle belongs to the caller.
     *
     * @return {@code weight} (1×D)
     */
    public Parameters parameters() {
        return Parameters.of(WEIGHT, weight.share());
    }

    /**
     * Norms tokens.
     *
     * @param x (T×D)
     * @return y (T×D)
     * @throws IllegalArgumentException for tokens of another width
     */
    public Matrix apply(Matrix x) {
        requireTokens("x", x);
        double[] in = new double[width()];
        return fromDoubles(x.backend(), x.rows(), (row, out) -> {
            x.readRows(row, row + 1, in);
            double scale = scale(in);
            for (int j = 0; j < out.length; j++) {
                out[j] = in[j] * factors[j] * scale;
            }
        });
    }

    /**
     * Gradients of {@code Σ y ⊙ dY}: with r the inverse root and g = dY ⊙ (c + w),
     * {@code dx = r · g − x · r³ · mean(g ⊙ x)} and {@code dw = Σ_t dY ⊙ x · r}.
     *
     * @param x (T×D), as given to {@link #apply}
     * @param dY (T×D)
     * @return input (T×D) and {@code weight} (1×D)
     * @throws IllegalArgumentException for tokens or a gradient of another width or shape
     */
    public Gradients backward(Matrix x, Matrix dY) {
        requireTokens("x", x);
        KernelChecks.gradient(weight.backend(), dY, x);
        int width = width();
        double[] in = new double[width];
        double[] d = new double[width];
        double[] dWeight = new double[width];
        try (Unfinished made = new Unfinished()) {
            Matrix dX = made.add(fromDoubles(x.backend(), x.rows(), (row, out) -> {
                x.readRows(row, row + 1, in);
                dY.readRows(row, row + 1, d);
                double scale = scale(in);
                double dot = 0;
                for (int j = 0; j < width; j++) {
                    dWeight[j] += d[j] * in[j] * scale;
                    dot += d[j] * factors[j] * in[j];
                }
                double along = scale * scale * scale * dot / width;
                for (int j = 0; j < width; j++) {
                    out[j] = scale * d[j] * factors[j] - along * in[j];
                }
            }));
            Matrix ofWeight = made.add(x.backend().matrix(1, width, dWeight));
            made.keep();
            return new Gradients(dX, Parameters.of(WEIGHT, ofWeight));
        }
    }

    /** The inverse root mean square of a row. */
    private double scale(double[] row) {
        double squares = 0;
        for (double value : row) {
            squares += value * value;
        }
        return 1 / Math.sqrt(squares / row.length + epsilon);
    }

    private void requireTokens(String argument, Matrix x) {
        KernelChecks.owner(argument, x, weight.backend());
        Require.count(argument + ".columns", x.columns(), width(), "columns (width of the norm)");
    }

    /** Fills one row after another. */
    private interface Rows {
        void fill(int row, double[] out);
    }

    /** A matrix (rows×D) whose elements are rounded once from doubles. */
    private Matrix fromDoubles(Backend backend, int rows, Rows source) {
        double[] out = new double[width()];
        return backend.matrix(rows, width(), new RowSource() {
            @Override
            public void read(int row, float[] into) {
                source.fill(row, out);
                for (int j = 0; j < out.length; j++) {
                    into[j] = (float) out[j];
                }
            }

            @Override
            public void read(int row, double[] into) {
                source.fill(row, into);
            }
        });
    }

    /** Releases the weight; doing so again changes nothing. */
    @Override
    public void close() {
        weight.close();
    }

    @Override
    public String toString() {
        return "RmsNorm[" + width() + ", epsilon " + epsilon + (offset == 0 ? "" : ", offset " + offset) + "]";
    }
}
