package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankWeights;
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
    private final HostActivations activations;
    private final Elements elements;
    private final Activation activation;
    private final boolean biases;
    private final int hiddenSize;
    private final int intermediateSize;
    private final Map<BankPart, List<NativeBuffer>> parts = new EnumMap<>(BankPart.class);
    private final Bundle weights;

    HostExperts(HostKernels kernels, BankWeights weights) {
        this.products = kernels.products();
        this.activations = kernels.activations();
        this.elements = kernels.elements();
        this.activation = weights.activation();
        this.biases = weights.biases();
        this.intermediateSize = weights.intermediateSize();
        this.hiddenSize = weights.hiddenSize();
        try (Lease lease = new Lease()) {
            weights.parts().forEach((part, matrices) -> parts.put(part, lease.of(matrices)));
            this.weights = lease.keepAll();
        }
    }

    private NativeBuffer weight(BankPart part, Tile tile) {
        return Objects.requireNonNull(parts.get(part)).get(tile.group());
    }

    boolean gated() {
        return activation.gated();
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

    /** A column of ones for the longest group, by which biases are products like the others; none without biases. */
    private Operand ones(Lease lease, RowGroups groups) {
        int rows = 0;
        for (int g = 0; biases && g < groups.count(); g++) {
            rows = Math.max(rows, groups.size(g));
        }
        NativeBuffer column = lease.scratch((long) rows * elements.bytes());
        if (rows > 0) {
            double[] values = new double[rows];
            Arrays.fill(values, 1);
            elements.write(column.block(), 0, values, 0, rows);
        }
        return Operand.of(column, 0, 1);
    }

    /** What the projections keep for backward; where it is not wanted, there is only hidden. Plain ones have no gate. */
    record Inner(@Nullable NativeBuffer gate, @Nullable NativeBuffer up, NativeBuffer hidden) {
        NativeBuffer gateOrThrow() {
            return Objects.requireNonNull(gate);
        }

        NativeBuffer upOrThrow() {
            return Objects.requireNonNull(up);
        }
    }

    /** {@code hidden = a(x · gateᵀ, x · upᵀ)}, or without a gate {@code a(x · upᵀ)}. */
    void hidden(RowGroups groups, Operand x, Inner into) {
        try (Lease lease = new Lease()) {
            Operand ones = ones(lease, groups);
            List<Runnable> tasks = new ArrayList<>();
            for (Tile tile : Tile.of(groups, intermediateSize)) {
                tasks.add(() -> hidden(tile, x, ones, into));
            }
            run(tasks, cost(groups, gated() ? 2 : 1));
        }
    }

    private void hidden(Tile tile, Operand x, Operand ones, Inner into) {
        try (Lease lease = new Lease()) {
            Operand h = part(inner(into.hidden(), tile), tile);
            Operand g = into.gate() == null ? h : part(inner(into.gate(), tile), tile);
            Operand u = into.up() != null
                    ? part(inner(into.up(), tile), tile)
                    : gated() ? alone(lease.scratch(tileBytes(tile)), tile) : h;
            Operand rows = rows(lease, tile, x);
            if (gated()) {
                project(tile, rows, ones, BankPart.GATE, BankPart.GATE_BIAS, g);
            }
            project(tile, rows, ones, BankPart.UP, BankPart.UP_BIAS, u);
            HostActivations.Stretch from = new HostActivations.Stretch(gated() ? g : null, u);
            forStoredRows(
                    tile,
                    h,
                    (row, count) -> activations.forward(activation, from.storedRow(row), h.storedRow(row), count));
        }
    }

    /** Rows of a tile, stored as what is computed from them. */
    private Operand rows(Lease lease, Tile tile, Operand x) {
        Operand rows = x.fromRow(tile.firstRow());
        return isTransposed(tile) ? products.gemm().turned(lease, tile.rows(), hiddenSize, rows) : rows;
    }

    /** {@code y = x · weightᵀ (+ bias)}. */
    private void project(Tile tile, Operand x, Operand ones, BankPart weight, BankPart bias, Operand y) {
        if (biases) {
            Operand row = Operand.of(weight(bias, tile), 0, intermediateSize).fromColumn(tile.column());
            products.gemm().multiply(tile.rows(), tile.columns(), 1, ones, row, false, y);
        }
        Operand w = new Operand(weight(weight, tile), 0, hiddenSize, true).fromColumn(tile.column());
        products.gemm().product(tile.rows(), tile.columns(), hiddenSize, x, w, biases, y);
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

    /** {@code y = hidden · downᵀ (+ bias)}, row-major. */
    void output(RowGroups groups, NativeBuffer hidden, Operand y) {
        try (Lease lease = new Lease()) {
            Operand ones = ones(lease, groups);
            List<Runnable> tasks = new ArrayList<>();
            for (Tile tile : Tile.of(groups, hiddenSize)) {
                List<HostGemm.Term> terms = new ArrayList<>();
                if (biases) {
                    Operand row = Operand.of(weight(BankPart.DOWN_BIAS, tile), 0, hiddenSize);
                    terms.add(new HostGemm.Term(1, ones, row));
                }
                Operand w = new Operand(weight(BankPart.DOWN, tile), 0, intermediateSize, true);
                terms.add(new HostGemm.Term(intermediateSize, inner(hidden, tile), w));
                tasks.add(() -> products.rowMajor(tile, terms, y));
            }
            run(tasks, cost(groups, 1));
        }
    }

    /** {@code dGate, dUp} from the gradient of the output, stored as gate and up are. */
    void innerGradients(RowGroups groups, Operand dOutput, Inner from, Inner into) {
        List<Runnable> tasks = new ArrayList<>();
        for (Tile tile : Tile.of(groups, intermediateSize)) {
            tasks.add(() -> innerGradients(tile, dOutput, from, into));
        }
        run(tasks, cost(groups, 1));
    }

    private void innerGradients(Tile tile, Operand dOutput, Inner from, Inner into) {
        try (Lease lease = new Lease()) {
            Operand d = alone(lease.scratch(tileBytes(tile)), tile);
            Operand w =
                    Operand.of(weight(BankPart.DOWN, tile), 0, intermediateSize).fromColumn(tile.column());
            products.gemm().product(tile.rows(), tile.columns(), hiddenSize, rows(lease, tile, dOutput), w, false, d);
            HostActivations.Stretch stored = stretch(from, tile);
            HostActivations.Stretch gradients = stretch(into, tile);
            forStoredRows(
                    tile,
                    stored.up(),
                    (row, count) -> activations.backward(
                            activation, stored.storedRow(row), d.storedRow(row), gradients.storedRow(row), count));
        }
    }

    private HostActivations.Stretch stretch(Inner inner, Tile tile) {
        Operand gate = gated() ? part(inner(inner.gateOrThrow(), tile), tile) : null;
        return new HostActivations.Stretch(gate, part(inner(inner.upOrThrow(), tile), tile));
    }

    /**
     * Gradients of a run, to be filled.
     *
     * @param weights for any of the parts and of its experts; others are not computed
     * @param add whether to add to what is there
     */
    record Into(NativeBuffer input, Map<BankPart, Map<Integer, NativeBuffer>> weights, boolean add) {}

    /** Gradients of the input and of weights from those of the projections. */
    void gradients(RowGroups groups, Operand x, Operand dOutput, Inner d, Into into) {
        try (Lease lease = new Lease()) {
            Operand ones = ones(lease, groups);
            List<Runnable> tasks = new ArrayList<>();
            Operand dInput = Operand.of(into.input(), 0, hiddenSize);
            for (Tile tile : Tile.of(groups, hiddenSize)) {
                List<HostGemm.Term> terms = new ArrayList<>();
                if (gated()) {
                    terms.add(through(BankPart.GATE, d.gateOrThrow(), tile));
                }
                terms.add(through(BankPart.UP, d.upOrThrow(), tile));
                tasks.add(() -> products.rowMajor(tile, terms, dInput));
            }
            into.weights().forEach((part, buffers) -> {
                int rows = part.rows(hiddenSize, intermediateSize);
                for (Tile tile : Tile.ofGradient(groups, rows, buffers.keySet())) {
                    tasks.add(() -> weightGradient(part, tile, x, dOutput, ones, d, into));
                }
            });
            run(tasks, cost(groups, 5));
        }
    }

    private HostGemm.Term through(BankPart part, NativeBuffer d, Tile tile) {
        return new HostGemm.Term(intermediateSize, inner(d, tile), Operand.of(weight(part, tile), 0, hiddenSize));
    }

    private void weightGradient(
            BankPart part, Tile tile, Operand x, Operand dOutput, Operand ones, Inner d, Into into) {
        Operand left =
                switch (part) {
                    case GATE -> inner(d.gateOrThrow(), tile);
                    case UP -> inner(d.upOrThrow(), tile);
                    case DOWN -> dOutput.fromRow(tile.groupFrom());
                    case GATE_BIAS, UP_BIAS, DOWN_BIAS -> ones;
                };
        Operand right =
                switch (part) {
                    case GATE, UP -> x.fromRow(tile.groupFrom());
                    case DOWN -> inner(d.hidden(), tile);
                    case GATE_BIAS -> inner(d.gateOrThrow(), tile);
                    case UP_BIAS -> inner(d.upOrThrow(), tile);
                    case DOWN_BIAS -> dOutput.fromRow(tile.groupFrom());
                };
        int columns = part.columns(hiddenSize, intermediateSize);
        NativeBuffer y = Objects.requireNonNull(
                Objects.requireNonNull(into.weights().get(part)).get(tile.group()));
        products.gradient(tile, columns, left, right, into.add(), Operand.of(y, 0, columns));
    }
}
