package org.moe4j.core.vector;

import org.moe4j.core.vector.tile.Bfloat16Tiles;
import org.moe4j.core.vector.tile.Float16Tiles;
import org.moe4j.core.vector.tile.Shapes;

/** Panels of 16-bit numbers. Columns j and j + P/2 stand beside each other, so that one vector of {@code int} holds both. */
final class HalfPanels implements Panels<float[]> {
    private final boolean bfloat16;
    private final short[] values;
    private final int inner;
    private final int count;

    HalfPanels(boolean bfloat16, short[] values, int inner, int count) {
        this.bfloat16 = bfloat16;
        this.values = values;
        this.inner = inner;
        this.count = count;
    }

    private static int width() {
        return Shapes.FLOAT_PANEL;
    }

    /** Where a column stands in its row of a panel. */
    static int place(int column) {
        int lanes = width() / 2;
        return column < lanes ? 2 * column : 2 * (column - lanes) + 1;
    }

    private int at(int panel) {
        return panel * inner * width();
    }

    @Override
    public String kind() {
        return bfloat16 ? "bfloat16" : "float16";
    }

    @Override
    public int inner() {
        return inner;
    }

    @Override
    public int count() {
        return count;
    }

    @Override
    public void multiply(int rows, float[] x, int xAt, int panel, int panels, float[] y, int yAt, int yStep) {
        int width = width();
        if (bfloat16) {
            Bfloat16Tiles.run(
                    rows, panels, inner, x, xAt, rows, values, at(panel), width, inner * width, y, yAt, yStep);
        } else {
            Float16Tiles.run(rows, panels, inner, x, xAt, rows, values, at(panel), width, inner * width, y, yAt, yStep);
        }
    }

    private float value(int at) {
        return bfloat16 ? Halves.bfloat16(values[at]) : Halves.float16(values[at]);
    }

    @Override
    public double get(int panel, int k, int column) {
        return value(at(panel) + k * width() + place(column));
    }

    @Override
    public void column(int panel, int column, float[] into, int at) {
        int from = at(panel) + place(column);
        for (int k = 0; k < inner; k++) {
            into[at + k] = value(from + k * width());
        }
    }

    @Override
    public Piece<float[]> piece(int panel, int panels, int fromTerm, int toTerm, Scratch<float[]> scratch) {
        int step = (toTerm - fromTerm) * width();
        float[] into = scratch.weights(panels * step);
        for (int i = 0; i < panels; i++) {
            int from = at(panel + i) + fromTerm * width();
            if (bfloat16) {
                Bfloat16Tiles.widen(values, from, toTerm - fromTerm, into, i * step);
            } else {
                Float16Tiles.widen(values, from, toTerm - fromTerm, into, i * step);
            }
        }
        return new Piece<>(into, 0, step);
    }
}
