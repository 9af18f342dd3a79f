package org.moe4j.core.backend;

import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The kernels of an MoE layer. The Javadoc of each method is its definition; the reference backend is that definition
 * as a loop, every other backend is compared with it.
 *
 * <p><b>Purity.</b> A kernel never writes to an argument and returns a fresh matrix; only {@link #accumulate} and
 * {@link #accumulateMatmulTransA} write, and only to a {@link #buffer}. Matrices can therefore be shared by threads, passes and layers.
 *
 * <p><b>Determinism.</b> The same arguments give the same bits, run after run and for any number of
 * workers of its own; a backend whose products run elsewhere, as on a device, says what it can promise instead.
 *
 * <p><b>Errors.</b> Each method checks its arguments before any work: {@link IllegalArgumentException} for a shape that
 * does not fit or a matrix of another backend, {@link IllegalStateException} for a closed matrix. Zero rows are legal
 * everywhere. Two backends are equal when they understand each other's matrices.
 */
public interface Backend {
    /**
     * Short name for messages and reports.
     *
     * @return for example {@code Nd4jBackend[float32]}
     */
    String name();

    /**
     * Unit roundoff of the stored numbers, by which tolerances scale.
     *
     * @return 2⁻²⁴ or 2⁻⁵³
     */
    double unitRoundoff();

    /**
     * A matrix with the given values, rounded to this backend's precision.
     *
     * @param rows at least 0
     * @param columns at least 0
     * @param rowMajor {@code rows · columns} values, copied
     * @return a matrix (rows × columns)
     */
    Matrix matrix(int rows, int columns, double[] rowMajor);

    /**
     * A matrix with the given values.
     *
     * @param rows at least 0
     * @param columns at least 0
     * @param rowMajor {@code rows · columns} values, copied
     * @return a matrix (rows × columns)
     */
    Matrix matrix(int rows, int columns, float[] rowMajor);

    /**
     * A matrix with the values of a buffer from its position on; the buffer's position does not move.
     *
     * @param rows at least 0
     * @param columns at least 0
     * @param rowMajor at least {@code rows · columns} remaining values, copied
     * @return a matrix (rows × columns)
     */
    Matrix matrix(int rows, int columns, FloatBuffer rowMajor);

    /**
     * A matrix filled row by row, so that a large one never passes through a large array.
     *
     * @param rows at least 0
     * @param columns at least 0
     * @param source asked once for each row, if it has columns
     * @return a matrix (rows × columns)
     */
    Matrix matrix(int rows, int columns, RowSource source);

    /**
     * A matrix of zeros that the accumulating kernels may write to. Whoever fills it sees to it that nobody reads meanwhile.
     *
     * @param rows at least 0
     * @param columns at least 0
     * @return zeros (rows × columns)
     */
    Matrix buffer(int rows, int columns);

    /**
     * {@code y[rows of g] = a[rows of g] · b_g}: each group of rows meets its own matrix.
     *
     * @param a (N×p)
     * @param groups N rows in as many groups as there are matrices
     * @param b one (p×q) per group
     * @return (N×q)
     */
    Matrix groupedMatmul(Matrix a, RowGroups groups, List<Matrix> b);

    /**
     * {@code y[rows of g] = a[rows of g] · b_gᵀ}.
     *
     * @param a (N×p)
     * @param groups N rows in as many groups as there are matrices
     * @param b one (q×p) per group
     * @return (N×q)
     */
    Matrix groupedMatmulTransB(Matrix a, RowGroups groups, List<Matrix> b);

    /**
     * {@code y_g = a[rows of g]ᵀ · b[rows of g]}; an empty group gives zeros.
     *
     * @param a (N×p)
     * @param b (N×q)
     * @param groups N rows
     * @return one (p×q) per group
     */
    List<Matrix> groupedMatmulTransA(Matrix a, Matrix b, RowGroups groups);

    /**
     * {@code into_g = into_g + a[rows of g]ᵀ · b[rows of g]} for the groups that have a buffer, without a matrix for the
     * product; an empty group adds nothing.
     *
     * @param a (N×p)
     * @param b (N×q)
     * @param groups N rows
     * @param into a {@link #buffer} (p×q) for any of the groups, by the group's index; another one for each
     */
    void accumulateMatmulTransA(Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into);

    /**
     * {@code y_i = a[rows_i]}.
     *
     * @param a (M×D)
     * @param rows N indices into the rows of a; repeats are legal
     * @return (N×D)
     */
    Matrix gatherRows(Matrix a, int[] rows);

    /**
     * {@code y_t = Σ_j scales_tj · a[rows_tj]}, added in the order of j; an index of −1 adds nothing.
     *
     * @param a (N×D)
     * @param rows T·perRow indices into the rows of a, or −1
     * @param scales T·perRow factors
     * @param perRow terms of each sum, at least 1
     * @return (T×D)
     */
    Matrix sumRows(Matrix a, int[] rows, double[] scales, int perRow);

    /**
     * {@code y_i = scales_i · a_i}.
     *
     * @param a (N×D)
     * @param scales N factors
     * @return (N×D)
     */
    Matrix scaleRows(Matrix a, double[] scales);

    /**
     * {@code y_i = ⟨a_i, b_i⟩}.
     *
     * @param a (N×D)
     * @param b (N×D)
     * @return N numbers
     */
    double[] rowDots(Matrix a, Matrix b);

    /**
     * {@code y = alpha · a + beta · b}.
     *
     * @param alpha factor of a
     * @param a (N×D)
     * @param beta factor of b
     * @param b (N×D)
     * @return (N×D)
     */
    Matrix linearCombination(double alpha, Matrix a, double beta, Matrix b);

    /**
     * {@code y = a ⊙ b}, element by element.
     *
     * @param a (N×D)
     * @param b (N×D)
     * @return (N×D)
     */
    Matrix multiply(Matrix a, Matrix b);

    /**
     * What stands between the projections of an expert, element by element: {@code y = a(gate, up)} or {@code y = a(up)}.
     *
     * @param activation a, whose Javadoc is the formula
     * @param projections (N×F) each, with a gate exactly if the activation is gated
     * @return (N×F)
     */
    Matrix activate(Activation activation, Projections projections);

    /**
     * Adjoint of {@link #activate}: {@code dUp = d ⊙ ∂a/∂up} and, with a gate, {@code dGate = d ⊙ ∂a/∂gate}.
     *
     * @param activation a
     * @param projections as given forward
     * @param dHidden (N×F) gradient of the result
     * @return gradients of the projections; a gate exactly if there was one
     */
    Projections activateBackward(Activation activation, Projections projections, Matrix dHidden);

    /**
     * {@code buffer[fromRow + i] = keep · buffer[fromRow + i] + a_i}. With {@code keep = 0}
     * the old values are not read, so that they may be anything.
     *
     * @param keep factor of the values already there
     * @param buffer (M×D) made by {@link #buffer}
     * @param fromRow first row written
     * @param a (N×D) with {@code fromRow + N ≤ M}
     * @throws IllegalArgumentException also when {@code buffer} was not made by {@link #buffer}
     */
    void accumulate(double keep, Matrix buffer, int fromRow, Matrix a);

    /**
     * Position of the first NaN or infinite element in row-major order.
     *
     * @param a any matrix
     * @return {@code row · columns + column}, or empty when all elements are finite
     */
    OptionalLong firstNonFinite(Matrix a);

    /**
     * Takes over a bank of experts, once, in whatever layout the kernels of this backend want; {@link Bank} says what it
     * computes. The default runs the elementary kernels above.
     *
     * @param weights of E experts; the handles stay the caller's
     * @return the prepared bank; it stays valid when the given matrices are closed
     */
    default Bank prepare(BankWeights weights) {
        return new ElementaryBank(this, weights);
    }

    /**
     * The same values on this backend, rounded to its precision.
     *
     * @param foreign a matrix of any backend
     * @return a matrix of this backend
     */
    default Matrix copyOf(Matrix foreign) {
        return matrix(foreign.rows(), foreign.columns(), foreign.toArray());
    }

    /**
     * {@code a + b}.
     *
     * @param a (N×D)
     * @param b (N×D)
     * @return (N×D)
     */
    default Matrix add(Matrix a, Matrix b) {
        return linearCombination(1.0, a, 1.0, b);
    }

    /**
     * {@code a · b}.
     *
     * @param a (N×p)
     * @param b (p×q)
     * @return (N×q)
     */
    default Matrix matmul(Matrix a, Matrix b) {
        return groupedMatmul(a, RowGroups.single(a.rows()), List.of(b));
    }

    /**
     * {@code a · bᵀ}.
     *
     * @param a (N×p)
     * @param b (q×p)
     * @return (N×q)
     */
    default Matrix matmulTransB(Matrix a, Matrix b) {
        return groupedMatmulTransB(a, RowGroups.single(a.rows()), List.of(b));
    }

    /**
     * {@code aᵀ · b}.
     *
     * @param a (N×p)
     * @param b (N×q)
     * @return (p×q)
     */
    default Matrix matmulTransA(Matrix a, Matrix b) {
        return groupedMatmulTransA(a, b, RowGroups.single(a.rows())).get(0);
    }
}
