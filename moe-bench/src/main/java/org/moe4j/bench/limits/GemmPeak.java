package org.moe4j.bench.limits;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Initializer;

/** How fast a backend multiplies large square matrices, {@code a · bᵀ}. */
final class GemmPeak {
    static final int SIZE = 2048;

    private GemmPeak() {}

    /** Floating-point operations per second of the fastest product. */
    static double measure(Backend backend, double warmUp, double seconds) {
        Initializer normal = Initializer.normal(1);
        try (Matrix a = normal.draw(backend, SIZE, SIZE, 1);
                Matrix b = normal.draw(backend, SIZE, SIZE, 2)) {
            check(a, b);
            double best = CallTimes.of(() -> a.backend().matmulTransB(a, b).close(), warmUp, seconds)
                    .best();
            return 2.0 * SIZE * SIZE * SIZE / best;
        }
    }

    /** The last element, by its definition. */
    private static void check(Matrix a, Matrix b) {
        double expected = 0;
        double mass = 0;
        for (int k = 0; k < SIZE; k++) {
            double product = a.get(SIZE - 1, k) * b.get(SIZE - 1, k);
            expected += product;
            mass += Math.abs(product);
        }
        try (Matrix y = a.backend().matmulTransB(a, b)) {
            double actual = y.get(SIZE - 1, SIZE - 1);
            if (!(Math.abs(actual - expected) <= SIZE * a.backend().unitRoundoff() * mass)) {
                throw new IllegalStateException("product: expected " + expected + " but was " + actual);
            }
        }
    }
}
