package org.moe4j.core.nd4j;

import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Products and sums of rows as ND4J operations. Each method returns a fresh array; intermediate ones end with the scope. */
record DeviceProducts(DeviceArrays arrays, DeviceScope scope) {
    /** The rows of each group times a matrix of its own. */
    INDArray grouped(Matrix a, RowGroups groups, List<Matrix> b, boolean transB, int columns) {
        INDArray y = arrays.zeros(a.rows(), columns);
        for (int g = 0; g < groups.count() && a.columns() > 0; g++) {
            if (groups.size(g) > 0) {
                INDArray left = DeviceArrays.rows(scope.array(a), groups.from(g), groups.to(g));
                INDArray right = scope.array(b.get(g));
                INDArray product = left.mmul(transB ? right.transpose() : right);
                DeviceArrays.rows(y, groups.from(g), groups.to(g)).assign(scope.temporary(product));
            }
        }
        return y;
    }

    /** {@code aᵀ · b} over rows {@code from … to − 1}. */
    INDArray transA(Matrix a, Matrix b, int from, int to) {
        INDArray y = arrays.zeros(a.columns(), b.columns());
        if (to > from) {
            INDArray left = DeviceArrays.rows(scope.array(a), from, to).transpose();
            y.assign(scope.temporary(left.mmul(DeviceArrays.rows(scope.array(b), from, to))));
        }
        return y;
    }

    INDArray sumRows(Matrix a, int[] rows, double[] scales, int perRow) {
        int sums = rows.length / perRow;
        // a row of zeros for index -1: a factor of zero would turn an infinite row into NaN
        INDArray zero = arrays.zeros(1, a.columns());
        INDArray padded = a.rows() == 0
                ? scope.temporary(zero)
                : scope.temporary(Nd4j.concat(0, scope.array(a), scope.temporary(zero)));
        INDArray y = arrays.zeros(sums, a.columns());
        for (int j = 0; j < perRow; j++) {
            int[] indices = new int[sums];
            double[] factors = new double[sums];
            for (int t = 0; t < sums; t++) {
                int row = rows[t * perRow + j];
                indices[t] = row < 0 ? a.rows() : row;
                factors[t] = row < 0 ? 0 : scales[t * perRow + j];
            }
            INDArray terms = scope.temporary(Nd4j.pullRows(padded, 1, indices));
            y.addi(terms.muliColumnVector(scope.temporary(arrays.column(factors))));
        }
        return y;
    }
}
