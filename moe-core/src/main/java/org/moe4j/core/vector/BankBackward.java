package org.moe4j.core.vector;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;

/**
 * Gradients of a run, step after step, each by all workers: of the hidden rows, of gate and up, of the input rows, of the weights.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class BankBackward<A> {
    private static final int ROWS_OF_TASK = 128;
    private static final int TASKS_OF_WORKER = 4;
    private static final int LEAST_TERMS = 64;

    private final PackedBank<A> bank;
    private final Workers workers;
    private final Numbers<A> numbers;
    private final int hiddenSize;
    private final int intermediateSize;

    BankBackward(PackedBank<A> bank, Workers workers) {
        this.bank = bank;
        this.workers = workers;
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

    /** Returns the gradient of the rows (N×D), which are those of the tokens that an index names. */
    A run(RowGroups groups, A tokens, int[] index, ExpertForward.Kept<A> kept, A dOutput, Into<A> into) {
        int rows = groups.rows();
        A dHidden = numbers.array(rows * intermediateSize);
        List<ColumnRun> downOrder = bank.downOrder();
        forPieces(
                groups,
                intermediateSize,
                hiddenSize,
                (p, from, to) -> new InputGradient<>(numbers, bank.down(p.expert()), downOrder, hiddenSize)
                        .run(dOutput, p.from(), p.rows(), from, to, dHidden, p.from()));
        A dUp = bank.gated() ? numbers.array(rows * intermediateSize) : dHidden;
        new ActivationTiles<>(numbers, workers)
                .backward(bank.activation, kept.gate(), kept.up(), dHidden, /* dGate= */ dHidden, dUp);
        A dInput = numbers.array(rows * hiddenSize);
        List<ColumnRun> innerOrder = bank.innerOrder();
        int columns = (bank.gated() ? 2 : 1) * intermediateSize;
        forPieces(groups, hiddenSize, columns, (p, from, to) -> {
            InputGradient<A> gradient = new InputGradient<>(numbers, bank.inner(p.expert()), innerOrder, columns);
            if (bank.gated()) {
                A both = Scratch.of(numbers).ordered(p.rows() * columns);
                inTurn(p, dHidden, dUp, both);
                gradient.run(both, 0, p.rows(), from, to, dInput, p.from());
            } else {
                gradient.run(dUp, p.from(), p.rows(), from, to, dInput, p.from());
            }
        });
        weights(groups, tokens, index, kept, dOutput, dHidden, dUp, into);
        return dInput;
    }

    private record Piece(int expert, int from, int to) {
        int rows() {
            return to - from;
        }
    }

    private interface OfPiece {
        void run(Piece piece, int fromTerm, int toTerm);
    }

    /** Pieces of the rows of all experts; cut by terms, too, where there are few. */
    private void forPieces(RowGroups groups, int terms, int columns, OfPiece task) {
        List<Piece> pieces = new ArrayList<>();
        for (int g = 0; g < groups.count(); g++) {
            for (int from = groups.from(g); from < groups.to(g); from += ROWS_OF_TASK) {
                pieces.add(new Piece(g, from, Math.min(groups.to(g), from + ROWS_OF_TASK)));
            }
        }
        int wanted = TASKS_OF_WORKER * workers.threads();
        int count = pieces.size();
        int cuts = count >= wanted || workers.threads() == 1
                ? 1
                : Math.max(1, Math.min(wanted / Math.max(1, count), terms / LEAST_TERMS));
        int step = Math.max(1, (terms + cuts - 1) / cuts);
        int ranges = (terms + step - 1) / step; // fewer than cuts where rounding the step up leaves nothing to the last
        workers.forEach(count * ranges, Cost.product(groups.rows(), terms, columns), i -> {
            int from = i % ranges * step;
            task.run(pieces.get(i / ranges), from, Math.min(terms, from + step));
        });
    }

    /** Gradients of gate and up in the order of the sums over both. */
    private void inTurn(Piece rows, A dGate, A dUp, A both) {
        int to = 0;
        for (int i = rows.from(); i < rows.to(); i++) {
            for (int first = 0; first < intermediateSize; first += numbers.piece()) {
                int here = Math.min(numbers.piece(), intermediateSize - first);
                numbers.copy(dGate, i * intermediateSize + first, both, to, here);
                numbers.copy(dUp, i * intermediateSize + first, both, to + here, here);
                to += 2 * here;
            }
        }
    }

    private void weights(
            RowGroups groups,
            A tokens,
            int[] index,
            ExpertForward.Kept<A> kept,
            A dOutput,
            A dGate,
            A dUp,
            Into<A> into) {
        int d = hiddenSize;
        int f = intermediateSize;
        WeightGradient<A> gate = new WeightGradient<>(numbers, dGate, f, tokens, d, index);
        WeightGradient<A> up = new WeightGradient<>(numbers, dUp, f, tokens, d, index);
        WeightGradient<A> down = new WeightGradient<>(numbers, dOutput, d, kept.hidden(), f, null);
        List<Runnable> tasks = new ArrayList<>();
        for (int e = 0; e < groups.count(); e++) {
            product(groups, e, gate, into.of(BankPart.GATE, e), tasks);
            product(groups, e, up, into.of(BankPart.UP, e), tasks);
            product(groups, e, down, into.of(BankPart.DOWN, e), tasks);
            sum(groups, e, dGate, f, into.of(BankPart.GATE_BIAS, e));
            sum(groups, e, dUp, f, into.of(BankPart.UP_BIAS, e));
            sum(groups, e, dOutput, d, into.of(BankPart.DOWN_BIAS, e));
        }
        long nanos = 3 * Cost.product(groups.rows(), d, f);
        workers.forEach(tasks.size(), nanos, i -> tasks.get(i).run());
    }

    /** A weight's gradient; without rows there is nothing to add, and what is fresh is zero. */
    private void product(RowGroups groups, int e, WeightGradient<A> gradient, @Nullable A y, List<Runnable> tasks) {
        if (y == null || groups.size(e) == 0) {
            return;
        }
        for (int i = 0; i < gradient.tasks(); i++) {
            int task = i;
            tasks.add(() -> gradient.run(task, groups.from(e), groups.to(e), y));
        }
    }

    private void sum(RowGroups groups, int e, A rows, int columns, @Nullable A y) {
        for (int i = groups.from(e); y != null && i < groups.to(e); i++) {
            numbers.addScaled(1, rows, i * columns, y, 0, columns);
        }
    }
}
