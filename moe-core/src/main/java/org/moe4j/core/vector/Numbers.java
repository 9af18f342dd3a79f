package org.moe4j.core.vector;

import java.nio.FloatBuffer;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.vector.tile.DoubleTiles;
import org.moe4j.core.vector.tile.DoubleTransposedTiles;
import org.moe4j.core.vector.tile.FloatTiles;
import org.moe4j.core.vector.tile.FloatTransposedTiles;
import org.moe4j.core.vector.tile.Shapes;

/**
 * Arithmetic on arrays of one precision. Every result is a fixed sequence of roundings that depends on nothing but its operands.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
interface Numbers<A> {
    /** Columns that a panel has: two vectors. */
    int panel();

    /** Outputs of gate, and then of up, that a sum over both goes through in turn. */
    int piece();

    A array(int length);

    int length(A a);

    default A copyOf(A a) {
        A copy = array(length(a));
        copy(a, 0, copy, 0, length(a));
        return copy;
    }

    double unitRoundoff();

    /** To this precision. */
    double rounded(double value);

    double get(A a, int at);

    void set(A a, int at, double value);

    void copy(A from, int at, A into, int intoAt, int count);

    void fill(A a, int from, int to, double value);

    /** Terms outer, rows inner, to the other way: {@code into[intoAt + row · step + term] = from[at + term · width + row]}. */
    void turn(A from, int at, int terms, int width, int rows, A into, int intoAt, int step);

    /** {@code into[intoAt + k · step] = from[at + k]}. */
    void scatter(A from, int at, A into, int intoAt, int step, int count);

    default void widen(A from, int at, double[] into, int count) {
        widen(from, at, into, 0, count);
    }

    void widen(A from, int at, double[] into, int intoAt, int count);

    void narrow(double[] from, A into, int at, int count);

    /** {@code y += x · w} by {@link FloatTiles#run} or {@link DoubleTiles#run}. */
    void tile(Tile shape, A x, int xAt, int xStep, A w, int wAt, int wStep, A y, int yAt, int yStep);

    /** {@code sums += w · d} by {@link FloatTransposedTiles#run} or {@link DoubleTransposedTiles#run}. */
    void transposedTile(TransposedTile shape, A d, int dAt, A w, int wAt, A sums, int at);

    /**
     * Some columns of rows of a matrix, or of the rows that an index names, one under another with zeros behind them:
     * {@code into[at + (row − from) · width + c] = a[row · columns + column + c]}.
     */
    void strip(
            A a,
            int columns,
            int @Nullable [] index,
            int from,
            int to,
            int column,
            int count,
            int width,
            A into,
            int at);

    /**
     * Rows {@code rows[rowAt + m]} of a matrix, side by side: {@code into[at + k · width + m] = a[row_m · columns + k]}; zeros
     * behind the last.
     */
    void pack(A a, int columns, int[] rows, int rowAt, int count, int width, A into, int at);

    /** {@code y = fma(scale, a, y)}. */
    void addScaled(double scale, A a, int aAt, A y, int yAt, int count);

    /** {@code y = scale · a}. */
    void scale(double scale, A a, int aAt, A y, int yAt, int count);

    /** {@code y = alpha · a + beta · b}, in double and rounded once. */
    void combine(double alpha, A a, int aAt, double beta, A b, int bAt, A y, int yAt, int count);

    /** {@code y = a ⊙ b}. */
    void multiply(A a, A b, A y, int count);

    /** {@code Σ a ⊙ b} in double, in a fixed order. */
    double dot(A a, int aAt, A b, int bAt, int count);

    /** Rows of a source into an array of such rows; the source may be asked by several threads, each for its own. */
    void read(RowSource source, int from, int to, int columns, A into);

    /** Fills an array with what a buffer has from its position on, which does not move. */
    void read(FloatBuffer values, A into);

    /** Index of the first number that is not finite, or −1. */
    long firstNonFinite(A a);

    /** The logistic function that is exact enough. */
    void logistic(double[] x, double[] y, int count);

    /**
     * What one call of a tile kernel does.
     *
     * @param rows 1, 2, 4 or 8
     * @param panels as {@link Shapes#panels} says
     * @param inner terms of each sum
     * @param panelStep from a panel to the next
     */
    record Tile(int rows, int panels, int inner, int panelStep) {}

    /**
     * What one call of a transposed tile kernel does.
     *
     * @param terms 16 with one vector of rows, 8 with two, 1 with either
     * @param vectors of rows
     * @param run columns that the sums go through
     * @param panelStep from a panel to the next
     */
    record TransposedTile(int terms, int vectors, ColumnRun run, int panelStep) {}
}
