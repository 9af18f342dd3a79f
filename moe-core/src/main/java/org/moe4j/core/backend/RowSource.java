package org.moe4j.core.backend;

/** Rows that are produced on demand, so that a mapped file or a generator never passes through a large array. */
public interface RowSource {
    /**
     * Writes one row in single precision. A backend calls exactly one of the two methods for each row, once, in any
     * order and from any of its threads; for no row where rows have no columns.
     *
     * @param row index of the row
     * @param into one row, to be filled completely
     */
    void read(int row, float[] into);

    /**
     * Writes one row in double precision.
     *
     * @param row index of the row
     * @param into one row, to be filled completely
     */
    void read(int row, double[] into);
}
