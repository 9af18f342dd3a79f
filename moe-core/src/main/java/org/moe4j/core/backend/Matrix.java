package org.moe4j.core.backend;

/**
 * A dense row-major matrix, obtained from and understood by one {@link Backend}; it has no arithmetic of its own.
 *
 * <p>A matrix is immutable, but for one made by {@link Backend#buffer}, which {@link Backend#accumulate} fills. A
 * {@code Matrix} is a <em>handle</em>: {@link #share()} gives another handle on the same values, and the values are
 * released when the last handle is closed. A handle that is forgotten is released after the garbage collector found it.
 * Handles may be used by several threads at once.
 */
public interface Matrix extends AutoCloseable {
    /** Gives up this handle; doing so again changes nothing. Any use of the values afterwards is an {@link IllegalStateException}. */
    @Override
    void close();

    /**
     * Another handle on the same values, to be closed on its own.
     *
     * @return a handle that stays valid when this one is closed
     */
    Matrix share();

    /**
     * Whether {@link Backend#accumulate} may write to it, so that its values may change.
     *
     * @return true for a matrix made by {@link Backend#buffer}
     */
    default boolean isBuffer() {
        return false;
    }

    /**
     * The backend that understands this matrix.
     *
     * @return the backend that made it
     */
    Backend backend();

    /**
     * Number of rows.
     *
     * @return at least 0
     */
    int rows();

    /**
     * Number of columns.
     *
     * @return at least 0
     */
    int columns();

    /**
     * One element; slow, for tests and for looking.
     *
     * @param row 0 ≤ row &lt; rows
     * @param column 0 ≤ column &lt; columns
     * @return the element
     * @throws IndexOutOfBoundsException outside the matrix
     */
    double get(int row, int column);

    /**
     * A copy of all elements.
     *
     * @return row-major, {@code rows · columns} numbers
     */
    double[] toArray();

    /**
     * Copies some rows in single precision: exact for a backend whose unit roundoff is 2⁻²⁴, otherwise rounded.
     *
     * @param from first row, 0 ≤ from ≤ to
     * @param to after the last row, at most the number of rows
     * @param into row-major, overwritten from its start; at least {@code (to − from) · columns} numbers
     */
    default void readRows(int from, int to, float[] into) {
        KernelChecks.rows(this, from, to, into.length);
        for (int i = 0; i < (to - from) * columns(); i++) {
            into[i] = (float) get(from + i / columns(), i % columns());
        }
    }

    /**
     * Copies some rows in double precision, exact for every backend.
     *
     * @param from first row, 0 ≤ from ≤ to
     * @param to after the last row, at most the number of rows
     * @param into row-major, overwritten from its start; at least {@code (to − from) · columns} numbers
     */
    default void readRows(int from, int to, double[] into) {
        KernelChecks.rows(this, from, to, into.length);
        for (int i = 0; i < (to - from) * columns(); i++) {
            into[i] = get(from + i / columns(), i % columns());
        }
    }
}
