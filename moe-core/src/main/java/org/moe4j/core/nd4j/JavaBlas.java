package org.moe4j.core.nd4j;

import java.util.Arrays;

/**
 * Products as Java loops, for where OpenBLAS is wrong: several times slower. Tiles of both factors are copied to arrays of doubles, in
 * either precision; every element is one chain of sums over the inner dimension in double, and is rounded once when it is written.
 */
final class JavaBlas implements Blas {
    private static final int ROWS = 32;
    private static final int COLUMNS = 256;
    private static final int TERMS = 64;
    private static final ThreadLocal<Tiles> TILES = ThreadLocal.withInitial(Tiles::new);

    private final Elements elements;

    JavaBlas(Elements elements) {
        this.elements = elements;
    }

    private static final class Tiles {
        final double[] a = new double[ROWS * TERMS];
        final double[] b = new double[TERMS * COLUMNS];
        final double[] c = new double[ROWS * COLUMNS];
        final double[] line = new double[COLUMNS];
    }

    @Override
    public boolean hasSmallKernels() {
        return false;
    }

    @Override
    public void gemm(int m, int n, int k, Operand a, Operand b, boolean add, Operand c) {
        for (int i = 0; i < m; i += ROWS) {
            for (int j = 0; j < n; j += COLUMNS) {
                int height = Math.min(ROWS, m - i);
                int width = Math.min(COLUMNS, n - j);
                tile(
                        height,
                        width,
                        k,
                        a.fromRow(i),
                        b.fromColumn(j),
                        add,
                        c.fromRow(i).fromColumn(j));
            }
        }
    }

    private void tile(int m, int n, int k, Operand a, Operand b, boolean add, Operand c) {
        Tiles tiles = TILES.get();
        if (add) {
            read(c, m, n, tiles.c, tiles.line);
        } else {
            Arrays.fill(tiles.c, 0, m * n, 0);
        }
        for (int from = 0; from < k; from += TERMS) {
            int terms = Math.min(TERMS, k - from);
            read(a.fromColumn(from), m, terms, tiles.a, tiles.line);
            read(b.fromRow(from), terms, n, tiles.b, tiles.line);
            multiply(m, n, terms, tiles);
        }
        for (int i = 0; i < m; i++) {
            elements.write(c.buffer().block(), c.fromRow(i).at(), tiles.c, i * n, n);
        }
    }

    /** A matrix, however it is stored, row after row. */
    private void read(Operand from, int rows, int columns, double[] into, double[] line) {
        NativeBlock block = from.buffer().block();
        if (!from.transposed()) {
            for (int i = 0; i < rows; i++) {
                elements.read(block, from.fromRow(i).at(), into, i * columns, columns);
            }
            return;
        }
        for (int j = 0; j < columns; j++) {
            elements.read(block, from.fromColumn(j).at(), line, 0, rows);
            for (int i = 0; i < rows; i++) {
                into[i * columns + j] = line[i];
            }
        }
    }

    private static void multiply(int m, int n, int k, Tiles tiles) {
        for (int i = 0; i < m; i++) {
            for (int t = 0; t < k; t++) {
                add(tiles.a[i * k + t], tiles.b, t * n, tiles.c, i * n, n);
            }
        }
    }

    private static void add(double factor, double[] b, int bAt, double[] c, int cAt, int count) {
        for (int j = 0; j < count; j++) {
            c[cAt + j] += factor * b[bAt + j];
        }
    }
}
