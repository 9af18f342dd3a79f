package org.moe4j.core.vector;

import org.moe4j.core.vector.tile.Shapes;

/**
 * Where the rows of a block go in a row-major matrix: where there are zeros so far: at once where they fill whole panels and the kernel's rows, else by way of a tile.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
record Output<A>(Numbers<A> numbers, A tile, A y, int firstRow, int rows, int columns) {
    /** Some panels' outputs of these rows. */
    void multiply(Panels<A> w, int width, A x, int xAt, int panel, int panels) {
        int p = numbers.panel();
        int column = panel * p;
        if (rows == width && (panel + panels) * p <= columns) {
            multiply(w, width, x, xAt, panel, panels, y, firstRow * columns + column, columns);
            return;
        }
        int step = panels * p;
        numbers.fill(tile, 0, width * step, 0);
        multiply(w, width, x, xAt, panel, panels, tile, 0, step);
        int here = Math.min(step, columns - column);
        for (int m = 0; m < rows; m++) {
            numbers.copy(tile, m * step, y, (firstRow + m) * columns + column, here);
        }
    }

    /** In one call, or panel after panel where the kernel of this width takes fewer. */
    static <A> void multiply(
            Panels<A> w, int width, A x, int xAt, int panel, int panels, A y, int yAt, int yStep, int p) {
        for (int done = 0; done < panels; ) {
            int part = Shapes.panels(width, panels - done);
            w.multiply(width, x, xAt, panel + done, part, y, yAt + done * p, yStep);
            done += part;
        }
    }

    private void multiply(Panels<A> w, int width, A x, int xAt, int panel, int panels, A into, int at, int step) {
        multiply(w, width, x, xAt, panel, panels, into, at, step, numbers.panel());
    }
}
