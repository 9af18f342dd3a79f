package org.moe4j.core.vector;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.host.Workers;

/**
 * The weights of a bank in panels. A panel of the inner projections has, with a gate, half a panel of gate rows and then the same rows of
 * up, so that the activation finds both in the tile that a kernel has just written.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class PackedBank<A> {
    final Numbers<A> numbers;
    final Activation activation;
    final int hiddenSize;
    final int intermediateSize;
    final boolean biases;
    private final List<Panels<A>> inner = new ArrayList<>();
    private final List<Panels<A>> down = new ArrayList<>();
    private final Map<BankPart, List<A>> vectors = new EnumMap<>(BankPart.class);

    PackedBank(Numbers<A> numbers, BankWeights weights, Packer<A> packer, Workers workers) {
        this.numbers = numbers;
        this.activation = weights.activation();
        this.hiddenSize = weights.hiddenSize();
        this.intermediateSize = weights.intermediateSize();
        this.biases = weights.biases();
        for (BankPart part : BankPart.of(activation, biases)) {
            if (part == BankPart.GATE_BIAS || part == BankPart.UP_BIAS || part == BankPart.DOWN_BIAS) {
                vectors.put(
                        part,
                        IntStream.range(0, weights.count())
                                .mapToObj(e -> numbers.copyOf(array(weights, part, e))) // as the panels are copies
                                .toList());
            }
        }
        AtomicReferenceArray<Panels<A>> packed = new AtomicReferenceArray<>(2 * weights.count());
        long nanos = Cost.numbers(weights.count() * weightsOfExpert());
        workers.forEach(2 * weights.count(), nanos, i -> {
            int e = i / 2;
            packed.set(i, i % 2 == 0 ? innerOf(weights, e, packer) : downOf(weights, e, packer));
        });
        for (int e = 0; e < weights.count(); e++) {
            inner.add(packed.get(2 * e));
            down.add(packed.get(2 * e + 1));
        }
    }

    private Panels<A> innerOf(BankWeights weights, int e, Packer<A> packer) {
        A up = array(weights, BankPart.UP, e);
        if (!gated()) {
            return packer.pack(hiddenSize, intermediateSize, row -> new Packing.Row<>(up, row * hiddenSize));
        }
        A gate = array(weights, BankPart.GATE, e);
        A nothing = numbers.array(hiddenSize);
        int half = columnsOfUp();
        return packer.pack(hiddenSize, panels() * numbers.panel(), column -> {
            int row = column / numbers.panel() * half + column % half;
            boolean ofGate = column % numbers.panel() < half;
            return row < intermediateSize
                    ? new Packing.Row<>(ofGate ? gate : up, row * hiddenSize)
                    : new Packing.Row<>(nothing, 0);
        });
    }

    private Panels<A> downOf(BankWeights weights, int e, Packer<A> packer) {
        A rows = array(weights, BankPart.DOWN, e);
        return packer.pack(intermediateSize, hiddenSize, row -> new Packing.Row<>(rows, row * intermediateSize));
    }

    /** Makes panels. */
    interface Packer<A> {
        Panels<A> pack(int inner, int outputs, IntFunction<Packing.Row<A>> rows);
    }

    private A array(BankWeights weights, BankPart part, int expert) {
        return VectorMatrix.<A>content(weights.get(part).get(expert)).array();
    }

    boolean gated() {
        return activation.gated();
    }

    int count() {
        return down.size();
    }

    /** Rows of up in a panel of the inner projections. */
    int columnsOfUp() {
        return gated() ? numbers.panel() / 2 : numbers.panel();
    }

    /** Panels of the inner projections. */
    int panels() {
        return Packing.panels(intermediateSize, columnsOfUp());
    }

    /** Order of a sum over the outputs of the inner projections: gate and up in turn. */
    List<ColumnRun> innerOrder() {
        return ColumnRun.order(intermediateSize, numbers.panel(), gated() ? 2 : 1, numbers.piece());
    }

    /** Order of a sum over the outputs of the down projection. */
    List<ColumnRun> downOrder() {
        return ColumnRun.order(hiddenSize, numbers.panel(), 1, numbers.piece());
    }

    Panels<A> inner(int expert) {
        return inner.get(expert);
    }

    Panels<A> down(int expert) {
        return down.get(expert);
    }

    /** A bias, or nothing. */
    @Nullable
    A bias(BankPart part, int expert) {
        List<A> all = vectors.get(part);
        return all == null ? null : all.get(expert);
    }

    /** Numbers of one expert's matrices. */
    long weightsOfExpert() {
        return (gated() ? 3L : 2L) * hiddenSize * intermediateSize;
    }

    /** Handles on the weights where they stand, each read when it is asked for. */
    BankWeights weights(Backend backend) {
        Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
        for (int e = 0; e < count(); e++) {
            for (BankPart part : BankPart.of(activation, biases)) {
                Content<A> content =
                        switch (part) {
                            case GATE -> new Content.OfBank<>(numbers, inner(e), intermediateSize, columnsOfUp(), 0);
                            case UP ->
                                new Content.OfBank<>(
                                        numbers,
                                        inner(e),
                                        intermediateSize,
                                        columnsOfUp(),
                                        gated() ? columnsOfUp() : 0);
                            case DOWN -> new Content.OfBank<>(numbers, down(e), hiddenSize, numbers.panel(), 0);
                            case GATE_BIAS, UP_BIAS, DOWN_BIAS -> {
                                A bias = Objects.requireNonNull(bias(part, e));
                                yield new Content.Dense<>(numbers, bias, 1, numbers.length(bias), false);
                            }
                        };
                int rows = part.rows(hiddenSize, intermediateSize);
                int columns = part.columns(hiddenSize, intermediateSize);
                parts.computeIfAbsent(part, absent -> new ArrayList<>())
                        .add(new VectorMatrix<>(backend, numbers, rows, columns, content, false));
            }
        }
        return new BankWeights(activation, parts);
    }
}
