package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.List;

/** A library that is wrong in one way, and only in products that are large in one way. */
final class FaultyLargeBlas implements Blas {
    /** Which products are wrong. */
    private enum Large {
        ROWS_BEYOND_128,
        ROWS_BEYOND_256,
        COLUMNS_BEYOND_256,
        COLUMNS_BEYOND_1024,
        TERMS_BEYOND_384,
        TERMS_FROM_700,
        MULTIPLICATIONS_BEYOND_2_000_000;

        boolean has(int m, int n, int k) {
            return switch (this) {
                case ROWS_BEYOND_128 -> m > 128;
                case ROWS_BEYOND_256 -> m > 256;
                case COLUMNS_BEYOND_256 -> n > 256;
                case COLUMNS_BEYOND_1024 -> n > 1024;
                case TERMS_BEYOND_384 -> k > 384;
                case TERMS_FROM_700 -> k >= 700;
                case MULTIPLICATIONS_BEYOND_2_000_000 -> (long) m * n * k > 2_000_000;
            };
        }
    }

    /** What is wrong with them. */
    private enum Fault {
        ONE_ELEMENT,
        LAST_ELEMENT,
        LAST_COLUMN_IS_ZERO,
        LAST_ROW_IS_ITS_NEIGHBOUR,
        LAST_TERM_LOST,
        BLOCKS_OF_ROWS_EXCHANGED
    }

    private final boolean single;
    private final Large large;
    private final Fault fault;
    private final Elements elements;
    private final Blas right;

    private FaultyLargeBlas(boolean single, Large large, Fault fault) {
        this.single = single;
        this.large = large;
        this.fault = fault;
        elements = single ? new FloatElements() : new DoubleElements();
        right = single ? new FloatBlas() : new DoubleBlas();
    }

    /** Each in both precisions. */
    static List<FaultyLargeBlas> all() {
        List<FaultyLargeBlas> all = new ArrayList<>();
        for (Large large : Large.values()) {
            for (Fault fault : Fault.values()) {
                all.add(new FaultyLargeBlas(true, large, fault));
                all.add(new FaultyLargeBlas(false, large, fault));
            }
        }
        return all;
    }

    Elements elements() {
        return elements;
    }

    @Override
    public String toString() {
        return fault + ", " + large + (single ? ", float32" : ", float64");
    }

    @Override
    public boolean hasSmallKernels() {
        return right.hasSmallKernels();
    }

    @Override
    public void gemm(int m, int n, int k, Operand a, Operand b, boolean add, Operand c) {
        boolean wrong = large.has(m, n, k);
        right.gemm(m, n, wrong && fault == Fault.LAST_TERM_LOST ? k - 1 : k, a, b, add, c);
        if (wrong) {
            spoil(m, n, k, a, b, c);
        }
    }

    private void spoil(int m, int n, int k, Operand a, Operand b, Operand c) {
        switch (fault) {
            case ONE_ELEMENT -> off(m / 3, n / 2, k, a, b, c);
            case LAST_ELEMENT -> off(m - 1, n - 1, k, a, b, c);
            case LAST_COLUMN_IS_ZERO -> {
                for (int i = 0; i < m; i++) {
                    set(c, i, n - 1, 0);
                }
            }
            case LAST_ROW_IS_ITS_NEIGHBOUR -> {
                for (int j = 0; j < n; j++) {
                    set(c, m - 1, j, get(c, m - 2, j));
                }
            }
            case BLOCKS_OF_ROWS_EXCHANGED -> exchange(m, n, c);
            case LAST_TERM_LOST -> {}
        }
    }

    /** Farther off than the bound, and than that of twice the product. */
    private void off(int i, int j, int k, Operand a, Operand b, Operand c) {
        double gauge = 0;
        for (int t = 0; t < k; t++) {
            gauge += Math.abs(get(a, i, t) * get(b, t, j));
        }
        set(c, i, j, get(c, i, j) + 2.5 * 2 * Math.sqrt(k) * elements.unitRoundoff() * gauge);
    }

    /** Rows whose distance is that of rows made of the same numbers in what is checked, and of whole blocks. */
    private void exchange(int m, int n, Operand c) {
        int distance = m > 110 ? 110 : m / 2;
        for (int j = 0; j < n; j++) {
            double kept = get(c, 0, j);
            set(c, 0, j, get(c, distance, j));
            set(c, distance, j, kept);
        }
    }

    private double get(Operand from, int row, int column) {
        double[] value = new double[1];
        Operand at = from.fromRow(row).fromColumn(column);
        elements.read(at.buffer().block(), at.at(), value, 0, 1);
        return value[0];
    }

    private void set(Operand into, int row, int column, double value) {
        Operand at = into.fromRow(row).fromColumn(column);
        elements.write(at.buffer().block(), at.at(), new double[] {value}, 0, 1);
    }
}
