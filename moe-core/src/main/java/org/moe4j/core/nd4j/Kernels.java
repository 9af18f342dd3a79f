package org.moe4j.core.nd4j;

import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.nd4j.linalg.api.ndarray.INDArray;

/** One strategy of {@link Nd4jBackend}, which has checked all arguments but for whether they are open. */
interface Kernels {
    double unitRoundoff();

    Matrix matrix(int rows, int columns, double[] rowMajor);

    Matrix matrix(int rows, int columns, float[] rowMajor);

    Matrix matrix(int rows, int columns, FloatBuffer rowMajor);

    Matrix matrix(int rows, int columns, RowSource source);

    Matrix buffer(int rows, int columns);

    /** {@code y_g = a_g · b_g}, or {@code a_g · b_gᵀ}; the result has the given columns. */
    Matrix groupedMatmul(Matrix a, RowGroups groups, List<Matrix> b, boolean transB, int columns);

    List<Matrix> groupedMatmulTransA(Matrix a, Matrix b, RowGroups groups);

    void accumulateMatmulTransA(Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into);

    Matrix gatherRows(Matrix a, int[] rows);

    Matrix sumRows(Matrix a, int[] rows, double[] scales, int perRow);

    Matrix scaleRows(Matrix a, double[] scales);

    double[] rowDots(Matrix a, Matrix b);

    Matrix linearCombination(double alpha, Matrix a, double beta, Matrix b);

    Matrix multiply(Matrix a, Matrix b);

    Matrix activate(Activation activation, Projections projections);

    Projections activateBackward(Activation activation, Projections projections, Matrix dHidden);

    void accumulate(double keep, Matrix buffer, int fromRow, Matrix a);

    OptionalLong firstNonFinite(Matrix a);

    Matrix wrap(INDArray array);

    INDArray unwrap(Matrix matrix);
}
