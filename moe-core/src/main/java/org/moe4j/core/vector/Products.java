package org.moe4j.core.vector;

import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;
import org.moe4j.core.vector.tile.Shapes;

/**
 * Products of groups of rows. Each output is one chain of fused multiply-adds over the inner dimension, upwards from 0 or from what was
 * there, whatever the shapes and the workers.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class Products<A> {
    private static final int ROWS_OF_TASK = 64;

    private final Numbers<A> numbers;
    private final Workers workers;

    Products(Numbers<A> numbers, Workers workers) {
        this.numbers = numbers;
        this.workers = workers;
    }

    interface OfGroup<T> {
        T of(int group);
    }

    interface Piece {
        void run(int group, int from, int to);
    }

    /** Runs a task for pieces of the rows of all groups, of so many rows at most. */
    void forRows(RowGroups groups, int most, long nanosOfRow, Piece task) {
        int[] first = new int[groups.count() + 1];
        for (int g = 0; g < groups.count(); g++) {
            first[g + 1] = first[g] + (groups.size(g) + most - 1) / most;
        }
        workers.forEach(first[groups.count()], nanosOfRow * groups.rows(), piece -> {
            int g = 0;
            while (first[g + 1] <= piece) {
                g++;
            }
            int from = groups.from(g) + (piece - first[g]) * most;
            task.run(g, from, Math.min(groups.to(g), from + most));
        });
    }

    /** {@code y = a · wᵀ} with the panels of w (outputs × inner). */
    void withPanels(A a, int inner, RowGroups groups, OfGroup<Panels<A>> w, int outputs, A y) {
        forRows(
                groups,
                ROWS_OF_TASK,
                Cost.product(1, inner, outputs),
                (g, from, to) -> rows(a, inner, from, to, w.of(g), outputs, y));
    }

    private void rows(A a, int inner, int from, int to, Panels<A> w, int outputs, A y) {
        Blocks blocks = new Blocks(to - from);
        Scratch<A> scratch = Scratch.of(numbers);
        A x = scratch.x(blocks.padded() * inner);
        blocks.pack(numbers, a, inner, consecutive(from, to), 0, x);
        for (int panel = 0; panel < w.count(); ) {
            int panels = Shapes.panels(blocks.widest(), w.count() - panel);
            for (int b = 0; b < blocks.count(); b++) {
                Output<A> output =
                        new Output<>(numbers, scratch.tile, y, from + Blocks.from(b), blocks.size(b), outputs);
                output.multiply(w, blocks.width(b), x, Blocks.from(b) * inner, panel, panels);
            }
            panel += panels;
        }
    }

    static int[] consecutive(int from, int to) {
        int[] rows = new int[to - from];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = from + i;
        }
        return rows;
    }

    /** {@code y = a · b} with b (inner × outputs) as it is. */
    void plain(A a, int inner, RowGroups groups, OfGroup<A> b, int outputs, A y) {
        int width = numbers.panel();
        forRows(groups, ROWS_OF_TASK, Cost.product(1, inner, outputs), (g, from, to) -> {
            Blocks blocks = new Blocks(to - from);
            Scratch<A> scratch = Scratch.of(numbers);
            A x = scratch.x(blocks.padded() * inner);
            blocks.pack(numbers, a, inner, consecutive(from, to), 0, x);
            A right = b.of(g);
            for (int column = 0; column < outputs; column += width) {
                int here = Math.min(width, outputs - column);
                A w = here == width
                        ? right
                        : tail(right, 0, inner, outputs, column, here, scratch.weights(inner * width));
                int wAt = here == width ? column : 0;
                int wStep = here == width ? outputs : width;
                for (int block = 0; block < blocks.count(); block++) {
                    int rows = blocks.width(block);
                    numbers.fill(scratch.tile, 0, rows * width, 0);
                    numbers.tile(
                            new Numbers.Tile(rows, 1, inner, 0),
                            x,
                            Blocks.from(block) * inner,
                            rows,
                            w,
                            wAt,
                            wStep,
                            scratch.tile,
                            0,
                            width);
                    for (int m = 0; m < blocks.size(block); m++) {
                        int row = from + Blocks.from(block) + m;
                        numbers.copy(scratch.tile, m * width, y, row * outputs + column, here);
                    }
                }
            }
        });
    }

    /** Columns of some rows, side by side with zeros behind them, P in a row. */
    private A tail(A b, int from, int rows, int columns, int column, int count, A into) {
        int width = numbers.panel();
        for (int k = 0; k < rows; k++) {
            numbers.copy(b, (from + k) * columns + column, into, k * width, count);
            numbers.fill(into, k * width + count, (k + 1) * width, 0);
        }
        return into;
    }

    /** {@code y += aᵀ · b} over the rows from one to another; y is (p × q). */
    void transA(A a, int p, A b, int q, int from, int to, A y) {
        WeightGradient<A> gradient = new WeightGradient<>(numbers, a, p, b, q, null);
        workers.forEach(gradient.tasks(), Cost.product(to - from, p, q), task -> gradient.run(task, from, to, y));
    }
}
