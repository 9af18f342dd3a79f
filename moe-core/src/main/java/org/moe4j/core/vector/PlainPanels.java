package org.moe4j.core.vector;

import org.moe4j.core.vector.tile.Shapes;

/**
 * Panels in the precision of the sums.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class PlainPanels<A> implements Panels<A> {
    private final Numbers<A> numbers;
    private final A values;
    private final int inner;
    private final int count;
    private final Numbers.Tile[] shapes = new Numbers.Tile[(Shapes.ROWS + 1) * Shapes.ROWS];

    PlainPanels(Numbers<A> numbers, A values, int inner, int count) {
        this.numbers = numbers;
        this.values = values;
        this.inner = inner;
        this.count = count;
        for (int rows = 1; rows <= Shapes.ROWS; rows *= 2) {
            for (int panels = 1; panels <= Shapes.MOST_PANELS; panels *= 2) {
                shapes[rows * Shapes.ROWS + panels] = new Numbers.Tile(rows, panels, inner, inner * numbers.panel());
            }
        }
    }

    private int at(int panel) {
        return panel * inner * numbers.panel();
    }

    @Override
    public String kind() {
        return numbers == FloatNumbers.INSTANCE ? "float32" : "float64";
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
    public void multiply(int rows, A x, int xAt, int panel, int panels, A y, int yAt, int yStep) {
        Numbers.Tile shape = shapes[rows * Shapes.ROWS + panels];
        numbers.tile(shape, x, xAt, rows, values, at(panel), numbers.panel(), y, yAt, yStep);
    }

    @Override
    public double get(int panel, int k, int column) {
        return numbers.get(values, at(panel) + k * numbers.panel() + column);
    }

    @Override
    public void column(int panel, int column, A into, int at) {
        for (int k = 0; k < inner; k++) {
            numbers.set(into, at + k, get(panel, k, column));
        }
    }

    @Override
    public Piece<A> piece(int panel, int panels, int fromTerm, int toTerm, Scratch<A> scratch) {
        return new Piece<>(values, at(panel) + fromTerm * numbers.panel(), inner * numbers.panel());
    }
}
