package org.moe4j.core.backend;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.moe4j.core.internal.Require;

/**
 * The checks at the door of each kernel, the same for every backend: for those who write one. That a matrix is not closed
 * is checked by the backend that owns it.
 */
public final class KernelChecks {
    private KernelChecks() {}

    /**
     * {@link Backend#groupedMatmul} and its transposed form.
     *
     * @param backend the backend asked
     * @param a left operand
     * @param groups its row groups
     * @param b one right operand per group
     * @param transB whether b is used transposed
     * @return columns of the result
     * @throws IllegalArgumentException for another number of rows in the groups or of matrices, or one of another shape
     */
    public static int groupedMatmul(Backend backend, Matrix a, RowGroups groups, List<Matrix> b, boolean transB) {
        owner("a", a, backend);
        Require.count("groups", groups.rows(), a.rows(), "rows (rows of a)");
        Require.count("b", b.size(), groups.count(), "matrices (one per row group)");
        int columns = b.isEmpty() ? 0 : transB ? b.get(0).rows() : b.get(0).columns();
        for (int g = 0; g < b.size(); g++) {
            owner("b[" + g + "]", b.get(g), backend);
            int rows = transB ? columns : a.columns();
            shape(
                    "b[" + g + "]",
                    b.get(g),
                    rows,
                    transB ? a.columns() : columns,
                    "columns of a and the other matrices of b");
        }
        return columns;
    }

    /**
     * {@link Backend#groupedMatmulTransA}.
     *
     * @param backend the backend asked
     * @param a left operand
     * @param b right operand
     * @param groups their row groups
     * @throws IllegalArgumentException for other numbers of rows in {@code b} or the groups
     */
    public static void groupedMatmulTransA(Backend backend, Matrix a, Matrix b, RowGroups groups) {
        owner("a", a, backend);
        owner("b", b, backend);
        Require.count("b", b.rows(), a.rows(), "rows (rows of a)");
        Require.count("groups", groups.rows(), a.rows(), "rows (rows of a)");
    }

    /**
     * {@link Backend#accumulateMatmulTransA}.
     *
     * @param backend the backend asked
     * @param a left operand
     * @param b right operand
     * @param groups their row groups
     * @param into buffers by the index of their group
     * @throws IllegalArgumentException for other numbers of rows, a buffer of another shape, or one that stands twice
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public static void accumulateMatmulTransA(
            Backend backend, Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into) {
        groupedMatmulTransA(backend, a, b, groups);
        IdentityHashMap<Matrix, String> taken = new IdentityHashMap<>();
        into.forEach((group, buffer) -> {
            String name = "into[" + Objects.checkIndex(group, groups.count()) + "]";
            owner(name, buffer, backend);
            buffer(name, buffer, a.columns(), b.columns(), "columns of a and of b");
            Require.once(name, buffer, taken);
        });
    }

    /**
     * {@link Backend#activate}.
     *
     * @param backend the backend asked
     * @param activation says whether there has to be a gate
     * @param projections of one shape
     * @throws IllegalArgumentException for projections of different shapes, or another backend
     */
    public static void activate(Backend backend, Activation activation, Projections projections) {
        if (activation.gated() != projections.gate().isPresent()) {
            throw Require.expected(
                    "projections",
                    activation.gated() ? "gate and up (" + activation + ")" : "up alone (" + activation + ")",
                    projections.gate().isPresent() ? "gate and up" : "up alone");
        }
        projections.gate().ifPresent(gate -> sameShape(backend, "gate", gate, "up", projections.up()));
        owner("up", projections.up(), backend);
    }

    /**
     * {@link Backend#activateBackward}.
     *
     * @param backend the backend asked
     * @param activation says whether there has to be a gate
     * @param projections of one shape
     * @param dHidden of the same shape
     */
    public static void activateBackward(
            Backend backend, Activation activation, Projections projections, Matrix dHidden) {
        activate(backend, activation, projections);
        sameShape(backend, "up", projections.up(), "dHidden", dHidden);
    }

    /**
     * {@link Backend#gatherRows}.
     *
     * @param backend the backend asked
     * @param a the matrix
     * @param rows indices into its rows
     */
    public static void gatherRows(Backend backend, Matrix a, int[] rows) {
        owner("a", a, backend);
        indices("rows", rows, 0, a.rows());
    }

    /**
     * {@link Backend#sumRows}.
     *
     * @param backend the backend asked
     * @param a the matrix
     * @param rows indices into its rows, or −1
     * @param scales as many factors
     * @param perRow terms of each sum
     * @return rows of the result
     */
    public static int sumRows(Backend backend, Matrix a, int[] rows, double[] scales, int perRow) {
        owner("a", a, backend);
        return sums(a.rows(), rows, scales, perRow);
    }

    static int sums(int summed, int[] rows, double[] scales, int perRow) {
        Require.atLeast("perRow", perRow, 1);
        Require.count("scales", scales.length, rows.length, "factors (one per index)");
        if (rows.length % perRow != 0) {
            throw Require.expected("rows", "a multiple of perRow (" + perRow + ") indices", rows.length);
        }
        indices("rows", rows, -1, summed);
        return rows.length / perRow;
    }

    static void indices(String argument, int[] rows, int low, int end) {
        for (int i = 0; i < rows.length; i++) {
            if (rows[i] < low || rows[i] >= end) {
                throw Require.expected(
                        argument,
                        "indices " + low + ".." + (end - 1) + " (rows of the matrix)",
                        rows[i] + " at position " + i);
            }
        }
    }

    /**
     * {@link Backend#scaleRows}.
     *
     * @param backend the backend asked
     * @param a the matrix
     * @param scales one factor per row
     * @throws IllegalArgumentException for {@code scales} with another number of factors
     */
    public static void scaleRows(Backend backend, Matrix a, double[] scales) {
        owner("a", a, backend);
        Require.count("scales", scales.length, a.rows(), "factors (rows of a)");
    }

    /**
     * Two matrices of one shape.
     *
     * @param backend the backend asked
     * @param nameA name of the first
     * @param a the first
     * @param nameB name of the second
     * @param b the second
     */
    public static void sameShape(Backend backend, String nameA, Matrix a, String nameB, Matrix b) {
        owner(nameA, a, backend);
        owner(nameB, b, backend);
        shape(nameB, b, a.rows(), a.columns(), "shape of " + nameA);
    }

    /**
     * A gradient that must have the shape of the result it belongs to.
     *
     * @param backend the backend asked
     * @param dOutput the gradient
     * @param output the result
     */
    public static void gradient(Backend backend, Matrix dOutput, Matrix output) {
        owner("dOutput", dOutput, backend);
        shape("dOutput", dOutput, output.rows(), output.columns(), "shape of the output");
    }

    /**
     * {@link Backend#accumulate}.
     *
     * @param backend the backend asked
     * @param buffer written to
     * @param fromRow first row written
     * @param a what is added
     */
    public static void accumulate(Backend backend, Matrix buffer, int fromRow, Matrix a) {
        owner("buffer", buffer, backend);
        owner("a", a, backend);
        written(buffer, fromRow, a.rows(), a.columns());
    }

    static void written(Matrix buffer, int fromRow, int rows, int columns) {
        Require.count("a", columns, buffer.columns(), "columns (columns of the buffer)");
        Require.atLeast("fromRow", fromRow, 0);
        if (fromRow > buffer.rows() - rows) {
            throw Require.expected(
                    "fromRow", "at most " + (buffer.rows() - rows) + " (rows of the buffer less rows of a)", fromRow);
        }
        writable("buffer", buffer);
    }

    private static void writable(String argument, Matrix buffer) {
        buffer.share().close(); // refuses a closed one
        if (!buffer.isBuffer()) {
            throw Require.expected(argument, "a matrix made by backend.buffer", "an immutable matrix");
        }
    }

    /**
     * A matrix that belongs to the given backend.
     *
     * @param argument name of the argument
     * @param matrix the matrix
     * @param backend the backend that has to understand it
     * @throws IllegalArgumentException for a matrix of another backend; the message says how to convert
     */
    public static void owner(String argument, Matrix matrix, Backend backend) {
        if (!matrix.backend().equals(backend)) {
            throw Require.expected(
                    argument,
                    "a matrix of " + backend.name(),
                    "one of " + matrix.backend().name(),
                    "convert it with backend.copyOf(" + argument + ")");
        }
    }

    /**
     * A matrix of the given shape.
     *
     * @param argument name of the argument
     * @param matrix the matrix
     * @param rows expected rows
     * @param columns expected columns
     * @param why where the expectation comes from
     * @throws IllegalArgumentException for another number of rows or columns
     */
    public static void shape(String argument, Matrix matrix, int rows, int columns, String why) {
        if (matrix.rows() != rows || matrix.columns() != columns) {
            throw Require.expected(
                    argument, rows + " x " + columns + " (" + why + ")", matrix.rows() + " x " + matrix.columns());
        }
    }

    /**
     * Two parts of one layer that must run on the same backend.
     *
     * @param argument name of the part
     * @param actual its backend
     * @param backend the backend expected
     * @throws IllegalArgumentException for another backend; the message says how to convert
     */
    public static void sameBackend(String argument, Backend actual, Backend backend) {
        if (!actual.equals(backend)) {
            throw Require.expected(argument, "experts of " + backend.name(), "some of " + actual.name());
        }
    }

    /**
     * An open buffer of a given shape, to be found before the work whose result goes there.
     *
     * @param argument name of the argument
     * @param buffer the matrix
     * @param rows expected rows
     * @param columns expected columns
     * @param why where the expectation comes from
     */
    public static void buffer(String argument, Matrix buffer, int rows, int columns, String why) {
        shape(argument, buffer, rows, columns, why);
        writable(argument, buffer);
    }

    /**
     * Refuses rows that a matrix does not have, or that do not fit into the room there is.
     *
     * @param matrix whose rows
     * @param from first row
     * @param to after the last row
     * @param room numbers there is room for
     * @throws IllegalArgumentException for a room that is too small
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public static void rows(Matrix matrix, int from, int to, int room) {
        Objects.checkFromToIndex(from, to, matrix.rows());
        if ((long) (to - from) * matrix.columns() > room) {
            throw Require.expected("into", "at least " + (long) (to - from) * matrix.columns() + " numbers", room);
        }
    }
}
