package org.moe4j.bench.layer;

import java.util.Arrays;
import org.moe4j.bench.layer.LayerCase.Numbers;

/** The two sums that definitions are made of. */
final class Plain {
    private Plain() {}

    static double[] row(Numbers matrix, int row) {
        return Arrays.copyOfRange(matrix.values(), row * matrix.columns(), (row + 1) * matrix.columns());
    }

    /** The product of each row with a vector. */
    static double[] products(Numbers matrix, double[] x) {
        double[] products = new double[matrix.rows()];
        for (int i = 0; i < products.length; i++) {
            for (int j = 0; j < x.length; j++) {
                products[i] += matrix.values()[i * x.length + j] * x[j];
            }
        }
        return products;
    }

    static void add(double[] into, int at, double factor, double[] values) {
        for (int i = 0; i < values.length; i++) {
            into[at + i] += factor * values[i];
        }
    }
}
