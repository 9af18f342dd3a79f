package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;

/**
 * The phases of a bank of experts on host memory. Within a phase all tiles of all experts run in parallel, so that one
 * busy or one wide expert is shared by all threads, too.
 *
 * <p>Between the projections the N×F matrices are stored by group: row-major for few rows, transposed for many, as
 * {@link HostGemm} computes them fastest; nothing is turned until the output.
 */
final class HostExperts {
    private final HostProducts products;
    private final Elements elements;
    private final int hiddenSize;
    private final int intermediateSize;
    private final List<NativeBuffer> gate;
    private final List<NativeBuffer> up;
    private final List<NativeBuffer> down;
    private final Bundle weights;

    HostExperts(HostKernels kernels, List<Matrix> gate, List<Matrix> up, List<Matrix> down) {
        this.products = kernels.products();
        this.elements = kernels.elements();
        this.intermediateSize = gate.get(0).rows();
        this.hiddenSize = gate.get(0).columns();
        try (Lease lease = new Lease()) {
            this.gate = lease.of(gate);
            this.up = lease.of(up);
            this.down = lease.of(down);
            this.weights = lease.keepAll();
        }
    }

    /** All weights, held once by whoever made this. */
    Held weights() {
        return weights;
    }

    int hiddenSize() {
        return hiddenSize;
    }

    int intermediateSize() {
        return intermediateSize;
    }

    /** An N×F matrix as it is stored between the projections, seen from a tile's group. */
    private Operand inner(NativeBuffer buffer, Tile tile) {
        long at = (long) tile.groupFrom() * intermediateSize;
        boolean transposed = isTransposed(tile);
        return new Operand(buffer, at, transposed ? tile.groupRows() : intermediateSize, transposed);
    }

    private boolean isTransposed(Tile tile) {
        return !HostGemm.few(tile.groupRows(), Math.max(hiddenSize, intermediateSize));
    }

    /** A tile of its own with the same orientation as {@link #inner}. */
    private Operand alone(NativeBuffer buffer, Tile tile) {
        boolean transposed = isTransposed(tile);
        return new Operand(buffer, 0, transposed ? tile.rows() : tile.columns(), transposed);
    }

    private static Operand part(Operand whole, Tile tile) {
        return whole.fromRow(tile.row()).fromColumn(tile.column());
    }

    private long tileBytes(Tile tile) {
        return (long) tile.rows() * tile.columns() * elements.bytes();
    }

    private void run(List<Runnable> tasks, long cost) {
        products.run(tasks.size(), cost, t -> tasks.get(t).run());
    }

    private long cost(RowGroups groups, int products) {
        return products * Cost.product(groups.rows(), intermediateSize, hiddenSize, groups.count());
    }

    /** What the projections keep for backward; where gate and up are not wanted, there is only hidden. */
    record Inner(@Nullable NativeBuffer gate, @Nullable NativeBuffer up, NativeBuffer hidden) {}

    /** {@code hidden = silu(x · gateᵀ) ⊙ (x · upᵀ)}. */
    void hidden(RowGroups groups, Operand x, Inner into) {
        List<Runnable> tasks = new ArrayList<>();
        for (Tile tile : Tile.of(groups, intermediateSize)) {
            tasks.add(() -> hidden(tile, x, into));
        }
        run(tasks, cost(groups, 2));
    }

    private void hidden(Tile tile, Operand x, Inner into) {
        try (Lease lease = new Lease()) {
            Operand h = part(inner(into.hidden(), tile), tile);
            Operand g = into.gate() == null ? h : part(inner(into.gate(), tile), tile);
            Operand u = into.up() == null
                    ? alone(lease.scratch(tileBytes(tile)), tile)
                    : part(inner(into.up(), tile), tile);
            project(tile, x, gate.get(tile.group()), g);
            project(tile, x, up.get(tile.group()), u);
            forStoredRows(
                    tile,
                    h,
                    (row, count) -> elements.swiGlu(
                            g.buffer().block(),
                            g.at() + row * g.stride(),
                            u.buffer().block(),
                            u.at() + row * u.stride(),
                            h.buffer().block(),
                            h.at() + row * h.stride(),
                            count));
        }
    }

    private void project(Tile tile, Operand x, NativeBuffer weight, Operand y) {
        Operand w = new Operand(weight, 0, hiddenSize, true).fromColumn(tile.column());
        products.gemm().product(tile.rows(), tile.columns(), hiddenSize, x.fromRow(tile.firstRow()), w, false, y);
    }

    private interface StoredRow {
        void run(long row, int count);
    }

    /** The rows of a tile as they are stored; all in one where they follow each other without a gap. */
    private static void forStoredRows(Tile tile, Operand stored, StoredRow each) {
        int rows = stored.transposed() ? tile.columns() : tile.rows();
        int columns = stored.transposed() ? tile.rows() : tile.columns();
        if (stored.stride() == columns) {
            each.run(0, rows * columns);
            return;
        }
        for (int row = 0; row < rows; row++) {
            each.run(row, columns);
        }
    }

    /** {@code y = hidden · downᵀ}, row-major. */
    void output(RowGroups groups, NativeBuffer hidden, Operand y) {
        List<Runnable> tasks = new ArrayList<>();
        for (Tile tile : Tile.of(groups, hiddenSize)) {
            Operand w = new Operand(down.get(tile.group()), 0, intermediateSize, true);
            tasks.add(() -> products.rowMajor(
                    tile, intermediateSize, new Operand[] {inner(hidden, tile)}, new Operand[] {w}, y));
        }
        run(tasks, cost(groups, 1));
    }

    /** {@code dGate, dUp} from the gradient of the output, stored as gate and up are. */
    void innerGradients(RowGroups groups, Operand dOutput, NativeBuffer g, NativeBuffer u, Inner into) {
        List<Runnable> tasks = new ArrayList<>();
        for (Tile tile : Tile.of(groups, intermediateSize)) {
            tasks.add(() -> innerGradients(tile, dOutput, g, u, into));
        }
        run(tasks, cost(groups, 1));
    }

    private void innerGradients(Tile tile, Operand dOutput, NativeBuffer g, NativeBuffer u, Inner into) {
        try (Lease lease = new Lease()) {
            Operand d = alone(lease.scratch(tileBytes(tile)), tile);
            Operand w = Operand.of(down.get(tile.group()), 0, intermediateSize).fromColumn(tile.column());
            products.gemm()
                    .product(tile.rows(), tile.columns(), hiddenSize, dOutput.fromRow(tile.firstRow()), w, false, d);
            Operand stored = part(inner(g, tile), tile);
            NativeBlock dGate = Objects.requireNonNull(into.gate()).block();
            NativeBlock dUp = Objects.requireNonNull(into.up()).block();
            forStoredRows(tile, stored, (row, count) -> {
                long at = stored.at() + row * stored.stride();
                long dAt = d.at() + row * d.stride();
                elements.swiGluBackward(
                        new Elements.SwiGluStretch(
                                g.block(), at, u.block(), at, d.buffer().block(), dAt, dGate, dUp, at),
                        count);
            });
        }
    }

    /** Gradients of a run, to be filled. */
    record Into(NativeBuffer input, List<NativeBuffer> gate, List<NativeBuffer> up, List<NativeBuffer> down) {}

    /** Gradients of the input and of all weights from those of the projections. */
    void gradients(RowGroups groups, Operand x, Operand dOutput, NativeBuffer hidden, Inner d, Into into) {
        NativeBuffer dGate = Objects.requireNonNull(d.gate());
        NativeBuffer dUp = Objects.requireNonNull(d.up());
        List<Runnable> tasks = new ArrayList<>();
        Operand dInput = Operand.of(into.input(), 0, hiddenSize);
        for (Tile tile : Tile.of(groups, hiddenSize)) {
            Operand throughGate = Operand.of(gate.get(tile.group()), 0, hiddenSize);
            Operand throughUp = Operand.of(up.get(tile.group()), 0, hiddenSize);
            tasks.add(() -> products.rowMajor(
                    tile,
                    intermediateSize,
                    new Operand[] {inner(dGate, tile), inner(dUp, tile)},
                    new Operand[] {throughGate, throughUp},
                    dInput));
        }
        for (Tile tile : Tile.ofGradient(groups, intermediateSize)) {
            Operand rows = x.fromRow(tile.groupFrom());
            tasks.add(() -> weightGradient(tile, hiddenSize, inner(dGate, tile), rows, into.gate()));
            tasks.add(() -> weightGradient(tile, hiddenSize, inner(dUp, tile), rows, into.up()));
        }
        for (Tile tile : Tile.ofGradient(groups, hiddenSize)) {
            Operand rows = dOutput.fromRow(tile.groupFrom());
            tasks.add(() -> weightGradient(tile, intermediateSize, rows, inner(hidden, tile), into.down()));
        }
        run(tasks, cost(groups, 5));
    }

    private void weightGradient(Tile tile, int columns, Operand a, Operand b, List<NativeBuffer> into) {
        Operand y = Operand.of(into.get(tile.group()), 0, columns);
        products.gradient(tile, columns, a, b, y);
    }
}
