package org.moe4j.core.vector;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.ActivationLoops;
import org.moe4j.core.host.Workers;
import org.moe4j.core.vector.tile.Shapes;

/**
 * Gradients of a run, expert after expert. Input gradients go through the forward panels, block by block turned into rows: there is no
 * second copy of the weights.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class BankBackward<A> {
    private static final int ROWS_OF_TASK = 256;
    private static final int PANELS_OF_TASK = 16;

    private final PackedBank<A> bank;
    private final Workers workers;
    private final Products<A> products;
    private final Numbers<A> numbers;
    private final int hiddenSize;
    private final int intermediateSize;

    BankBackward(PackedBank<A> bank, Workers workers) {
        this.bank = bank;
        this.workers = workers;
        products = new Products<>(bank.numbers, workers);
        numbers = bank.numbers;
        hiddenSize = bank.hiddenSize;
        intermediateSize = bank.intermediateSize;
    }

    /**
     * Arrays by part and expert that gradients of weights are added to; fresh ones are zeros.
     *
     * @param arrays for any of the parts and of the experts
     */
    record Into<A>(Map<BankPart, Map<Integer, A>> arrays) {
        @Nullable
        A of(BankPart part, int expert) {
            Map<Integer, A> ofPart = arrays.get(part);
            return ofPart == null ? null : ofPart.get(expert);
        }
    }

    /** Returns the gradient of the rows (N×D); x are the gathered rows. */
    A run(RowGroups groups, A x, ExpertForward.Kept<A> kept, A dOutput, Into<A> into) {
        int rows = groups.rows();
        A dHidden = numbers.array(rows * intermediateSize);
        products.forRows(
                groups,
                ROWS_OF_TASK,
                Cost.product(1, hiddenSize, intermediateSize),
                (g, from, to) -> through(bank.down(g), dOutput, hiddenSize, from, to, intermediateSize, dHidden));
        A dGate = bank.gated() ? numbers.array(rows * intermediateSize) : dHidden;
        A dUp = numbers.array(rows * intermediateSize);
        activations(rows * intermediateSize, kept, dHidden, dGate, dUp);
        A dInput = numbers.array(rows * hiddenSize);
        int panel = numbers.panel();
        int half = bank.columnsOfUp();
        products.forRows(groups, ROWS_OF_TASK, 2 * Cost.product(1, hiddenSize, intermediateSize), (g, from, to) -> {
            A both = interleaved(from, to, dGate, dUp, half, panel);
            int parts = bank.gated() ? 2 : 1;
            throughRows(bank.inner(g), parts, both, bank.panels() * panel, 0, to - from, hiddenSize, dInput, from);
        });
        weights(groups, x, kept, dOutput, dGate, dUp, into);
        return dInput;
    }

    private A interleaved(int from, int to, A dGate, A dUp, int half, int panel) {
        int columns = bank.panels() * panel;
        A both = numbers.array((to - from) * columns);
        for (int i = from; i < to; i++) {
            for (int p = 0; p < bank.panels(); p++) {
                int first = p * half;
                int here = Math.min(half, intermediateSize - first);
                int at = (i - from) * columns + p * panel;
                if (bank.gated()) {
                    numbers.copy(dGate, i * intermediateSize + first, both, at, here);
                    numbers.copy(dUp, i * intermediateSize + first, both, at + half, here);
                } else {
                    numbers.copy(dUp, i * intermediateSize + first, both, at, here);
                }
            }
        }
        return both;
    }

    private void through(Panels<A> w, A d, int columns, int from, int to, int inner, A y) {
        int padded = w.count() * numbers.panel();
        A rows = d;
        int firstRow = from;
        if (padded != columns) {
            rows = numbers.array((to - from) * padded);
            for (int i = from; i < to; i++) {
                numbers.copy(d, i * columns, rows, (i - from) * padded, columns);
            }
            firstRow = 0;
        }
        throughRows(w, 1, rows, padded, firstRow, to - from, inner, y, from);
    }

    /**
     * {@code y = d · w} for some rows of d, whose columns are those of the panels. Where panels have parts, gate and up, each sum goes
     * through the first part of all panels and then on through the second: its order must not depend on how wide a panel is.
     */
    private void throughRows(
            Panels<A> w, int parts, A d, int columns, int firstRow, int count, int inner, A y, int yRow) {
        int p = numbers.panel();
        Scratch<A> scratch = Scratch.of(numbers);
        Blocks blocks = new Blocks(count);
        A x = scratch.x(blocks.padded() * columns);
        blocks.pack(numbers, d, columns, Products.consecutive(firstRow, firstRow + count), 0, x);
        int strips = (inner + p - 1) / p;
        A sums = scratch.hidden(blocks.padded() * strips * p);
        numbers.fill(sums, 0, blocks.padded() * strips * p, 0);
        A turned = scratch.weights(p * strips * p);
        int part = p / parts;
        for (int step = 0; step < parts * w.count(); step++) {
            int q = step % w.count();
            int first = step / w.count() * part;
            w.turned(q, first, first + part, turned);
            for (int strip = 0; strip < strips; strip++) {
                for (int b = 0; b < blocks.count(); b++) {
                    int width = blocks.width(b);
                    Numbers.Tile shape = new Numbers.Tile(width, 1, part, 0);
                    int xAt = Blocks.from(b) * columns + (q * p + first) * width;
                    int yAt = (Blocks.from(b) * strips + strip * width) * p;
                    numbers.tile(shape, x, xAt, width, turned, (strip * p + first) * p, p, sums, yAt, p);
                }
            }
        }
        for (int i = 0; i < count; i++) {
            int b = i / Shapes.ROWS;
            int width = blocks.width(b);
            for (int strip = 0; strip < strips; strip++) {
                int here = Math.min(p, inner - strip * p);
                int at = (Blocks.from(b) * strips + strip * width + i % Shapes.ROWS) * p;
                numbers.copy(sums, at, y, (yRow + i) * inner + strip * p, here);
            }
        }
    }

    private void activations(int count, ExpertForward.Kept<A> kept, A dHidden, A dGate, A dUp) {
        int tile = ActivationLoops.TILE;
        workers.forEach((count + tile - 1) / tile, 2L * count, i -> {
            int at = i * tile;
            int here = Math.min(tile, count - at);
            Scratch<A> s = Scratch.of(numbers);
            numbers.widen(kept.up(), at, s.up, here);
            numbers.widen(dHidden, at, s.d, here);
            A gate = kept.gate();
            if (gate != null && bank.activation instanceof Activation.Gated gated) {
                numbers.widen(gate, at, s.gate, here);
                s.loops.backward(gated, s.gate, s.up, s.d, here);
                numbers.narrow(s.gate, dGate, at, here);
            } else if (bank.activation instanceof Activation.Plain plain) {
                s.loops.backward(plain, s.up, s.d, here);
            }
            numbers.narrow(s.up, dUp, at, here);
        });
    }

    private void weights(RowGroups groups, A x, ExpertForward.Kept<A> kept, A dOutput, A dGate, A dUp, Into<A> into) {
        int d = hiddenSize;
        int f = intermediateSize;
        List<Runnable> tasks = new ArrayList<>();
        for (int e = 0; e < groups.count(); e++) {
            product(groups, e, dGate, f, x, d, into, BankPart.GATE, tasks);
            product(groups, e, dUp, f, x, d, into, BankPart.UP, tasks);
            product(groups, e, dOutput, d, kept.hidden(), f, into, BankPart.DOWN, tasks);
            sum(groups, e, dGate, f, into, BankPart.GATE_BIAS);
            sum(groups, e, dUp, f, into, BankPart.UP_BIAS);
            sum(groups, e, dOutput, d, into, BankPart.DOWN_BIAS);
        }
        long nanos = 3 * Cost.product(groups.rows(), d, f);
        workers.forEach(tasks.size(), nanos, i -> tasks.get(i).run());
    }

    /** A weight's gradient, in strips of columns; without rows there is nothing to add, and what is fresh is zero. */
    private void product(
            RowGroups groups, int e, A a, int p, A b, int q, Into<A> into, BankPart part, List<Runnable> tasks) {
        A y = into.of(part, e);
        if (y == null || groups.size(e) == 0) {
            return;
        }
        int panels = products.panels(q);
        for (int first = 0; first < panels; first += PANELS_OF_TASK) {
            int from = first;
            int to = Math.min(panels, first + PANELS_OF_TASK);
            tasks.add(() -> {
                for (int panel = from; panel < to; panel++) {
                    products.transA(a, p, b, q, groups.from(e), groups.to(e), y, panel);
                }
            });
        }
    }

    private void sum(RowGroups groups, int e, A rows, int columns, Into<A> into, BankPart part) {
        A y = into.of(part, e);
        if (y == null) {
            return;
        }
        for (int i = groups.from(e); i < groups.to(e); i++) {
            numbers.addScaled(1, rows, i * columns, y, 0, columns);
        }
    }
}
