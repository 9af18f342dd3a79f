package org.moe4j.core.vector;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;
import org.moe4j.core.vector.tile.Shapes;

/**
 * Who does what in a forward run: a task is some rows of one expert, longest first; where there are too few experts for the workers,
 * a task is some panels of one expert.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class BankRun<A> {
    private static final int ROWS_OF_TASK = 64;
    private static final int TASKS_OF_WORKER = 4;

    private final PackedBank<A> bank;
    private final Workers workers;
    private final A tokens;
    private final int[] rows;
    private final RowGroups groups;
    private final ExpertForward.@Nullable Kept<A> kept;
    private final A y;

    BankRun(
            PackedBank<A> bank,
            Workers workers,
            A tokens,
            int[] rows,
            RowGroups groups,
            ExpertForward.@Nullable Kept<A> kept,
            A y) {
        this.bank = bank;
        this.workers = workers;
        this.tokens = tokens;
        this.rows = rows;
        this.groups = groups;
        this.kept = kept;
        this.y = y;
    }

    private record Task(int expert, int from, int to) {
        int rows() {
            return to - from;
        }
    }

    /** Rough nanoseconds on one thread. */
    long cost() {
        long cost = 0;
        for (int g = 0; g < groups.count(); g++) {
            cost += groups.size(g) == 0 ? 0 : Cost.expert(groups.size(g), bank.weightsOfExpert());
        }
        return cost;
    }

    /** With the cost. */
    void run(long total) {
        if (total < Workers.SMALL || workers.threads() == 1) {
            for (int g = 0; g < groups.count(); g++) {
                run(g, groups.from(g), groups.size(g));
            }
            return;
        }
        int active = 0;
        for (int g = 0; g < groups.count(); g++) {
            active += groups.size(g) > 0 ? 1 : 0;
        }
        if (active < 2 * workers.threads() && groups.rows() < active * ROWS_OF_TASK) {
            inPanels(total);
            return;
        }
        List<Task> tasks = tasks(total / ((long) workers.threads() * TASKS_OF_WORKER));
        workers.forEach(tasks.size(), total, i -> {
            Task task = tasks.get(i);
            run(task.expert(), task.from(), task.rows());
        });
    }

    private List<Task> tasks(long most) {
        List<Task> tasks = new ArrayList<>();
        for (int g = 0; g < groups.count(); g++) {
            int size = groups.size(g);
            int pieces = 1;
            if (Cost.expert(size, bank.weightsOfExpert()) > most) {
                pieces = Math.max(1, size / ROWS_OF_TASK);
            }
            int step = (((size + pieces - 1) / pieces) + Shapes.ROWS - 1) / Shapes.ROWS * Shapes.ROWS;
            for (int from = groups.from(g); from < groups.to(g); from += step) {
                tasks.add(new Task(g, from, Math.min(groups.to(g), from + step)));
            }
        }
        tasks.sort(Comparator.comparingInt(Task::rows).reversed());
        return tasks;
    }

    private void run(int expert, int from, int count) {
        if (count == 0) {
            return;
        }
        Scratch<A> scratch = Scratch.of(bank.numbers);
        Blocks blocks = new Blocks(count);
        A x = scratch.x(blocks.padded() * bank.hiddenSize);
        A hidden = scratch.hidden(blocks.padded() * bank.intermediateSize);
        blocks.pack(bank.numbers, tokens, bank.hiddenSize, rows, from, x);
        ExpertForward<A> forward = new ExpertForward<>(bank, expert, kept);
        forward.inner(blocks, from, x, 0, bank.panels(), scratch, hidden);
        clear(from, count);
        forward.down(blocks, from, hidden, 0, bank.down(expert).count(), scratch, y);
    }

    /** Kernels add to what is there. */
    private void clear(int from, int count) {
        bank.numbers.fill(y, from * bank.hiddenSize, (from + count) * bank.hiddenSize, 0);
    }

    /** Experts one after another, each by all workers. */
    private void inPanels(long total) {
        long nanos = total / 2; // of either half
        for (int g = 0; g < groups.count(); g++) {
            if (groups.size(g) > 0) {
                inPanels(new Task(g, groups.from(g), groups.to(g)), nanos);
            }
        }
    }

    private void inPanels(Task task, long nanos) {
        Blocks blocks = new Blocks(task.rows());
        ExpertForward<A> forward = new ExpertForward<>(bank, task.expert(), kept);
        A x = bank.numbers.array(blocks.padded() * bank.hiddenSize);
        A hidden = bank.numbers.array(blocks.padded() * bank.intermediateSize);
        blocks.pack(bank.numbers, tokens, bank.hiddenSize, rows, task.from(), x);
        clear(task.from(), task.rows());
        forRanges(
                bank.panels(),
                nanos,
                (from, to) -> forward.inner(blocks, task.from(), x, from, to, Scratch.of(bank.numbers), hidden));
        forRanges(
                bank.down(task.expert()).count(),
                nanos,
                (from, to) -> forward.down(blocks, task.from(), hidden, from, to, Scratch.of(bank.numbers), y));
    }

    private interface Range {
        void run(int from, int to);
    }

    private void forRanges(int panels, long nanos, Range range) {
        int pieces =
                Math.min(workers.threads() * TASKS_OF_WORKER, (panels + Shapes.MOST_PANELS - 1) / Shapes.MOST_PANELS);
        int step = ((panels + pieces - 1) / pieces + Shapes.MOST_PANELS - 1) / Shapes.MOST_PANELS * Shapes.MOST_PANELS;
        workers.forEach((panels + step - 1) / step, nanos, i -> range.run(i * step, Math.min(panels, (i + 1) * step)));
    }
}
