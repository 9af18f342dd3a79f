package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.Promise;

/** OpenBLAS is called where there is something to multiply, and nowhere else. */
class NoRowsNoCallTest {
    private final List<List<Integer>> calls = Collections.synchronizedList(new ArrayList<>());
    private final HostKernels kernels = new HostKernels(backend(), new DoubleElements(), listening(), new Workers(2));

    private static Backend backend() {
        return Nd4jBackend.of(Precision.FLOAT64, Strategy.HOST);
    }

    /** OpenBLAS in double precision, with a note of each product. */
    private Blas listening() {
        Blas blas = new DoubleBlas();
        return new Blas() {
            @Override
            public void gemm(int m, int n, int k, Operand a, Operand b, boolean add, Operand c) {
                calls.add(List.of(m, n, k));
                blas.gemm(m, n, k, a, b, add, c);
            }

            @Override
            public boolean hasSmallKernels() {
                return blas.hasSmallKernels();
            }
        };
    }

    private Matrix matrix(int rows, int columns) {
        return kernels.matrix(rows, columns, new Cases(1).doubles(rows * columns));
    }

    private int callsOf(Runnable products) {
        calls.clear();
        products.run();
        assertThat(calls).as("m, n and k of a product").allMatch(sizes -> !sizes.contains(0));
        return calls.size();
    }

    /** How often a product of each kind reaches OpenBLAS. */
    private int callsOf(int rows, int inner, int columns) {
        RowGroups groups = RowGroups.ofSizes(0, rows, 0);
        Matrix a = matrix(rows, inner);
        Matrix c = matrix(rows, columns);
        List<Matrix> b = Collections.nCopies(3, matrix(inner, columns));
        List<Matrix> turned = Collections.nCopies(3, matrix(columns, inner));
        Map<Integer, Matrix> into = Map.of(0, kernels.buffer(inner, columns), 1, kernels.buffer(inner, columns));
        return callsOf(() -> kernels.groupedMatmul(a, groups, b, false, columns))
                + callsOf(() -> kernels.groupedMatmul(a, groups, turned, true, columns))
                + callsOf(() -> kernels.groupedMatmulTransA(a, c, groups))
                + callsOf(() -> kernels.accumulateMatmulTransA(a, c, groups, into));
    }

    @Test
    void noProductOfNothingReachesOpenBlas() {
        int products = 0;
        int empty = 0;
        for (int rows = 0; rows <= 3; rows++) {
            for (int inner = 0; inner <= 3; inner++) {
                for (int columns = 0; columns <= 3; columns++) {
                    boolean nothing = rows == 0 || inner == 0 || columns == 0;
                    assertThat(callsOf(rows, inner, columns))
                            .as("%d x %d x %d", rows, inner, columns)
                            .isEqualTo(nothing ? 0 : 4);
                    products += 4;
                    empty += nothing ? 4 : 0;
                }
            }
        }
        Promise.measured(
                11, "products of nothing", "0 calls of OpenBLAS in " + empty + " of " + products + " products");
    }
}
