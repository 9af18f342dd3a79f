package org.moe4j.core.vector;

import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.vector.tile.Shapes;

/**
 * Some rows of one expert, forward: packed rows, panels of the inner projections, activation on the tile just written, packed hidden
 * rows, panels of the down projection.
 *
 * @param <A> {@code float[]} or {@code double[]}
 * @param bank weights
 * @param expert whose
 * @param kept what backward needs, row by row; or nothing
 */
record ExpertForward<A>(
        PackedBank<A> bank, int expert, @Nullable Kept<A> kept) {
    /**
     * Values between the projections, (N×F) each.
     *
     * @param gate of gated experts only
     */
    record Kept<A>(@Nullable A gate, A up, A hidden) {}

    /** {@code hidden[block][f][row]} of a range of panels. */
    void inner(Blocks blocks, int firstRow, A x, int fromPanel, int toPanel, Scratch<A> scratch, A hidden) {
        Panels<A> w = bank.inner(expert);
        int step = Shapes.MOST_PANELS * bank.numbers.panel();
        for (int panel = fromPanel; panel < toPanel; ) {
            int panels = Shapes.panels(blocks.widest(), toPanel - panel);
            for (int b = 0; b < blocks.count(); b++) {
                int width = blocks.width(b);
                int xAt = Blocks.from(b) * bank.hiddenSize;
                bank.numbers.fill(scratch.tile, 0, width * step, 0);
                Output.multiply(w, width, x, xAt, panel, panels, scratch.tile, 0, step, bank.numbers.panel());
                activate(blocks, b, firstRow, panel, panels, step, scratch, hidden);
            }
            panel += panels;
        }
    }

    /** The activations of a tile, all at once: loops over the few of one panel would hardly get vector instructions. */
    private void activate(Blocks blocks, int b, int firstRow, int panel, int panels, int step, Scratch<A> s, A hidden) {
        int columns = bank.columnsOfUp();
        int first = panel * columns;
        int here = Math.min(panels * columns, bank.intermediateSize - first);
        int size = blocks.size(b);
        for (int m = 0; m < size; m++) {
            if (bank.gated()) {
                read(s.tile, m * step, BankPart.GATE_BIAS, first, s.gate, m * here, here);
            }
            read(s.tile, m * step + (bank.gated() ? columns : 0), BankPart.UP_BIAS, first, s.up, m * here, here);
        }
        Kept<A> keep = kept;
        int rowAt = firstRow + Blocks.from(b);
        if (keep != null) {
            if (keep.gate() != null) {
                keep(s.gate, keep.gate(), rowAt, size, first, here);
            }
            keep(s.up, keep.up(), rowAt, size, first, here);
        }
        if (bank.activation instanceof Activation.Gated gated) {
            s.loops.forward(gated, s.gate, s.up, size * here);
        } else if (bank.activation instanceof Activation.Plain plain) {
            s.loops.forward(plain, s.up, size * here);
        }
        if (keep != null) {
            keep(s.up, keep.hidden(), rowAt, size, first, here);
        }
        int width = blocks.width(b);
        int to = Blocks.from(b) * bank.intermediateSize + first * width;
        if (width == 1) {
            bank.numbers.narrow(s.up, hidden, to, here);
            return;
        }
        for (int m = 0; m < width; m++) {
            for (int c = 0; c < here; c++) {
                bank.numbers.set(hidden, to + c * width + m, m < size ? s.up[m * here + c] : 0);
            }
        }
    }

    /** Numbers of one row that begin in a panel and go on at the same place in the next ones. */
    private void read(A tile, int at, BankPart bias, int first, double[] into, int intoAt, int count) {
        int columns = bank.columnsOfUp();
        for (int c = 0, from = at; c < count; c += columns, from += bank.numbers.panel()) {
            bank.numbers.widen(tile, from, into, intoAt + c, Math.min(columns, count - c));
        }
        A added = bank.bias(bias, expert);
        for (int c = 0; added != null && c < count; c++) {
            into[intoAt + c] = bank.numbers.rounded(into[intoAt + c] + bank.numbers.get(added, first + c));
        }
    }

    private void keep(double[] values, A into, int row, int rows, int first, int count) {
        for (int m = 0; m < rows; m++) {
            for (int c = 0; c < count; c++) {
                bank.numbers.set(into, (row + m) * bank.intermediateSize + first + c, values[m * count + c]);
            }
        }
    }

    /** {@code y = hidden · downᵀ (+ bias)} of a range of panels. */
    void down(Blocks blocks, int firstRow, A hidden, int fromPanel, int toPanel, Scratch<A> scratch, A y) {
        Panels<A> w = bank.down(expert);
        int columns = bank.hiddenSize;
        for (int panel = fromPanel; panel < toPanel; ) {
            int panels = Shapes.panels(blocks.widest(), toPanel - panel);
            for (int b = 0; b < blocks.count(); b++) {
                int row = firstRow + Blocks.from(b);
                Output<A> output = new Output<>(bank.numbers, scratch.tile, y, row, blocks.size(b), columns);
                output.multiply(w, blocks.width(b), hidden, Blocks.from(b) * bank.intermediateSize, panel, panels);
            }
            panel += panels;
        }
        A bias = bank.bias(BankPart.DOWN_BIAS, expert);
        int p = bank.numbers.panel();
        for (int i = 0; bias != null && i < blocks.rows(); i++) {
            int at = fromPanel * p;
            int count = Math.min(toPanel * p, columns) - at;
            bank.numbers.addScaled(1, bias, at, y, (firstRow + i) * columns + at, count);
        }
    }
}
