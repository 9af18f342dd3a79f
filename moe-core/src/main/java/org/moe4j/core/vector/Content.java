package org.moe4j.core.vector;

import org.jspecify.annotations.Nullable;

/**
 * The numbers of a matrix, wherever they stand.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
interface Content<A> {
    /** All numbers, row by row; not to be written to, unless it is that of a buffer. */
    A array();

    double get(int row, int column);

    void rows(int from, int to, A into);

    /** Panels whose columns are the rows, made when they are asked for first. */
    Panels<A> panels();

    /**
     * An array of its own.
     *
     * @param <A> {@code float[]} or {@code double[]}
     */
    final class Dense<A> implements Content<A> {
        private final Numbers<A> numbers;
        private final A values;
        private final int rows;
        private final int columns;
        private final boolean writable;
        private volatile @Nullable Panels<A> panels;

        Dense(Numbers<A> numbers, A values, int rows, int columns, boolean writable) {
            this.numbers = numbers;
            this.values = values;
            this.rows = rows;
            this.columns = columns;
            this.writable = writable;
        }

        @Override
        public A array() {
            return values;
        }

        @Override
        public double get(int row, int column) {
            return numbers.get(values, row * columns + column);
        }

        @Override
        public void rows(int from, int to, A into) {
            numbers.copy(values, from * columns, into, 0, (to - from) * columns);
        }

        @Override
        public Panels<A> panels() {
            Panels<A> made = panels;
            if (made == null) {
                made = Packing.plain(numbers, columns, rows, output -> new Packing.Row<>(values, output * columns));
                panels = writable ? null : made;
            }
            return made;
        }
    }

    /**
     * Weights of a bank, where they stand in its panels.
     *
     * @param <A> {@code float[]} or {@code double[]}
     */
    final class OfBank<A> implements Content<A> {
        private final Numbers<A> numbers;
        private final Panels<A> panels;
        private final int rows;
        private final int perPanel;
        private final int firstColumn;

        /** Row r is column {@code firstColumn + r % perPanel} of panel {@code r / perPanel}. */
        OfBank(Numbers<A> numbers, Panels<A> panels, int rows, int perPanel, int firstColumn) {
            this.numbers = numbers;
            this.panels = panels;
            this.rows = rows;
            this.perPanel = perPanel;
            this.firstColumn = firstColumn;
        }

        @Override
        public A array() {
            A all = numbers.array(rows * panels.inner());
            rows(0, rows, all);
            return all;
        }

        @Override
        public double get(int row, int column) {
            return panels.get(row / perPanel, column, firstColumn + row % perPanel);
        }

        @Override
        public void rows(int from, int to, A into) {
            for (int row = from; row < to; row++) {
                panels.column(row / perPanel, firstColumn + row % perPanel, into, (row - from) * panels.inner());
            }
        }

        @Override
        public Panels<A> panels() {
            if (perPanel == numbers.panel()) {
                return panels;
            }
            A all = array();
            int inner = panels.inner();
            return Packing.plain(numbers, inner, rows, output -> new Packing.Row<>(all, output * inner));
        }
    }
}
