package org.moe4j.core.vector.tile;

/** Sizes that the kernels are written for. */
public final class Shapes {
    /** Columns of a panel of single or 16-bit numbers: two vectors of single numbers. */
    public static final int FLOAT_PANEL = 2 * Lanes.FLOATS.length();

    /** Columns of a panel of double numbers. */
    public static final int DOUBLE_PANEL = 2 * Lanes.DOUBLES.length();

    /** Rows that a kernel takes at most. */
    public static final int ROWS = 8;

    /** Panels that a kernel takes at most. */
    public static final int MOST_PANELS = 4;

    private Shapes() {}

    /** Rows of the kernel for so many: 1, 2, 4 or 8. */
    public static int width(int rows) {
        return rows <= 2 ? rows : rows <= 4 ? 4 : ROWS;
    }

    /** How many of the panels that are left are taken together, so that few rows have enough chains. */
    public static int panels(int rows, int left) {
        int most = rows <= 2 ? MOST_PANELS : rows <= 4 ? 2 : 1;
        return left >= most ? most : 1;
    }
}
