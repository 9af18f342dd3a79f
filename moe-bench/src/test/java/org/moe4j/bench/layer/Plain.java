package org.moe4j.bench.layer;

import java.util.Arrays;
import java.util.stream.DoubleStream;
import org.moe4j.bench.layer.LayerCase.Numbers;

/** The sums that definitions are made of. */
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

    static double[] softmax(double[] logits) {
        double[] powers = DoubleStream.of(logits).map(StrictMath::exp).toArray();
        double sum = DoubleStream.of(powers).sum();
        return DoubleStream.of(powers).map(power -> power / sum).toArray();
    }

    /** Φ, the probability that a standard normal number is below x. */
    static double normal(double x) {
        return (1 + erf(x / Math.sqrt(2))) / 2;
    }

    /** {@code 2/√π · exp(−x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1·3·5·…·(2n + 1))}, whose terms have one sign; beyond 6 it is 1 in double. */
    static double erf(double x) {
        if (Math.abs(x) > 6) {
            return Math.signum(x);
        }
        double term = x;
        double sum = x;
        for (int n = 1; n < 200; n++) {
            term *= 2 * x * x / (2 * n + 1);
            sum += term;
        }
        return 2 / Math.sqrt(Math.PI) * StrictMath.exp(-x * x) * sum;
    }
}
