package org.moe4j.core.testing.definition;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.DoubleSupplier;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.testing.Tolerance;

/**
 * Random grouped products of awkward sizes beside sums of twice the precision: how large the largest error is beside the bound.
 *
 * <p>The bound is {@code 2·√k·u·Σ|a||b|}, and twice that where the terms of a sum differ by many powers of two. There one term may be
 * nearly the whole sum from the first addition on, so that each of k additions rounds as much as u of it: k errors, evenly spread, go
 * beyond 2·√k with 3.5 standard deviations, which some of millions of elements do, and beyond 4·√k with 7. (Up to k = 16 they never do.)
 */
public final class ProductCases {
    private static final int[] SIZES = {0, 1, 2, 3, 7, 8, 9, 31, 33, 257, 4096, 14_336};
    private static final int MOST_ELEMENTS = 1 << 20;
    private static final int GRADES = 20;

    private final Backend backend;
    private final SplittableRandom random;
    private final String what;
    private final DoubleSupplier numbers;
    private final int roots;
    private double worst;

    private ProductCases(Backend backend, long seed) {
        this.backend = backend;
        this.random = new SplittableRandom(seed);
        int kind = random.nextInt(3);
        what = backend + ", -Dmoe.seed=" + seed + (kind == 0 ? ", N(0,1)" : kind == 1 ? ", U(0,1)" : ", graded");
        roots = kind == 2 ? 2 : 1;
        numbers = kind == 0
                ? random::nextGaussian
                : kind == 1
                        ? random::nextDouble
                        : () -> random.nextGaussian() * Math.scalb(1.0, random.nextInt(2 * GRADES + 1) - GRADES);
    }

    /**
     * Draws so many products, one after another on each of some backends.
     *
     * @param backends take turns
     * @param firstSeed of the first product; each has its own
     * @param cases how many
     * @return the largest error of an element as a part of what is allowed
     * @throws AssertionError for an element beyond the bound
     */
    public static double worst(List<Backend> backends, long firstSeed, int cases) {
        Long asked = Long.getLong("moe.seed");
        double worst = 0;
        for (int i = 0; i < cases; i++) {
            long seed = asked == null ? firstSeed + i : asked;
            Backend backend = backends.get((int) (seed % backends.size()));
            worst = Math.max(worst, new ProductCases(backend, seed).run());
        }
        return worst;
    }

    /** The largest error of an element as a part of what is allowed; 0 for none where none is allowed. */
    static double worst(double[] actual, double[] expected, double[] allowed) {
        double worst = 0;
        for (int i = 0; i < expected.length; i++) {
            double error = Math.abs(actual[i] - expected[i]);
            worst = Math.max(worst, error == 0 ? 0 : error / allowed[i]); // NaN stays
        }
        return worst;
    }

    private double run() {
        long most = random.nextInt(100) == 0 ? 2_000_000 : random.nextInt(10) == 0 ? 100_000 : 10_000;
        int m;
        int n;
        int k;
        do {
            m = size();
            n = size();
            k = size();
        } while ((long) m * n * k > most
                || Math.max((long) m * k, Math.max((long) k * n, (long) m * n)) > MOST_ELEMENTS);
        switch (random.nextInt(4)) {
            case 0 -> rows(m, n, k, false);
            case 1 -> rows(m, n, k, true);
            case 2 -> sums(m, n, k, false);
            default -> sums(m, n, k, true);
        }
        return worst;
    }

    private int size() {
        return SIZES[random.nextInt(SIZES.length)];
    }

    private Matrix matrix(int rows, int columns) {
        double[] values = new double[rows * columns];
        Arrays.setAll(values, i -> numbers.getAsDouble());
        return backend.matrix(rows, columns, values);
    }

    /** One to three groups, some of them perhaps empty. */
    private RowGroups groups(int rows) {
        int first = random.nextInt(rows + 1);
        int second = random.nextInt(rows - first + 1);
        return random.nextBoolean() ? RowGroups.single(rows) : RowGroups.ofSizes(first, second, rows - first - second);
    }

    private void judge(String product, int terms, double[] actual, PlainProducts expected) {
        double[] allowed = new double[actual.length];
        for (int i = 0; i < allowed.length; i++) {
            allowed[i] = roots * Tolerance.gemm(terms, backend.unitRoundoff(), expected.gauges[i]);
        }
        double part = worst(actual, expected.values, allowed);
        if (!(part <= 1)) {
            throw new AssertionError(product + " of " + what + ": " + part + " of the bound");
        }
        worst = Math.max(worst, part);
    }

    /** {@code y_g = a_g · b_g}, or with bᵀ. */
    private void rows(int m, int n, int k, boolean transB) {
        RowGroups groups = groups(m);
        List<Matrix> b = new ArrayList<>();
        for (int g = 0; g < groups.count(); g++) {
            b.add(transB ? matrix(n, k) : matrix(k, n));
        }
        try (Matrix a = matrix(m, k);
                Matrix y = transB ? backend.groupedMatmulTransB(a, groups, b) : backend.groupedMatmul(a, groups, b)) {
            double[] left = a.toArray();
            double[] all = y.toArray();
            for (int g = 0; g < groups.count(); g++) {
                int from = groups.from(g);
                int to = groups.to(g);
                PlainProducts expected =
                        PlainProducts.product(left, from, to, k, b.get(g).toArray(), n, transB);
                String product = (to - from) + " x " + k + " times " + k + " x " + n + (transB ? ", transposed" : "");
                judge(product, k, Arrays.copyOfRange(all, from * n, to * n), expected);
            }
        }
        b.forEach(Matrix::close);
    }

    /** {@code y_g = a_gᵀ · b_g}, or added to what is there. */
    private void sums(int m, int n, int k, boolean add) {
        RowGroups groups = groups(k);
        try (Matrix a = matrix(k, m);
                Matrix b = matrix(k, n)) {
            if (!add) {
                List<Matrix> y = backend.groupedMatmulTransA(a, b, groups);
                for (int g = 0; g < groups.count(); g++) {
                    sum(a, b, groups, g, new double[m * n], y.get(g), 0);
                }
                y.forEach(Matrix::close);
                return;
            }
            int g = random.nextInt(groups.count());
            try (Matrix old = matrix(m, n);
                    Matrix y = backend.buffer(m, n)) {
                backend.accumulate(0, y, 0, old);
                backend.accumulateMatmulTransA(a, b, groups, Map.of(g, y));
                sum(a, b, groups, g, old.toArray(), y, 1);
            }
        }
    }

    private void sum(Matrix a, Matrix b, RowGroups groups, int g, double[] old, Matrix y, int more) {
        PlainProducts expected =
                PlainProducts.transA(a.toArray(), b.toArray(), groups.from(g), groups.to(g), a.columns(), b.columns());
        double[] actual = y.toArray();
        double[] left = new double[actual.length];
        for (int i = 0; i < left.length; i++) {
            double sum = expected.values[i] + old[i];
            double had = sum - old[i];
            double lost = (expected.values[i] - had) + (old[i] - (sum - had));
            expected.gauges[i] += Math.abs(old[i]);
            left[i] = actual[i] - sum - lost; // what is left of it
            expected.values[i] = 0;
        }
        String product = "sum of " + groups.size(g) + " rows, " + a.columns() + " x " + b.columns()
                + (more > 0 ? ", added" : "");
        judge(product, groups.size(g) + more, left, expected);
    }
}
