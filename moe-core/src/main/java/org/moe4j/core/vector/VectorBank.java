package org.moe4j.core.vector;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;
import org.moe4j.core.internal.Require;

/**
 * A bank in panels.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class VectorBank<A> implements Bank {
    private final VectorBackend backend;
    private final VectorKernels<A> kernels;
    private final Workers workers;
    private final PackedBank<A> packed;
    private final BankWeights weights;
    private volatile boolean closed;

    VectorBank(VectorBackend backend, VectorKernels<A> kernels, PackedBank<A> packed) {
        this.backend = backend;
        this.kernels = kernels;
        workers = kernels.workers();
        this.packed = packed;
        weights = packed.weights(backend);
    }

    private void check(Matrix tokens, int[] rows, RowGroups groups) {
        if (closed) {
            throw new IllegalStateException("bank: expected an open bank but was closed");
        }
        weights.requireRun(backend, tokens, rows, groups);
    }

    @Override
    public BankPass forward(Matrix tokens, int[] rows, RowGroups groups) {
        check(tokens, rows, groups);
        A values = kernels.array(tokens);
        A kept = tokens.isBuffer() ? packed.numbers.copyOf(values) : values; // a pass must not see later changes
        return new Pass(kept, rows.clone(), groups);
    }

    @Override
    public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
        check(tokens, rows, groups);
        A y = kernels.fresh(rows.length, packed.hiddenSize);
        run(kernels.array(tokens), rows, groups, null, y);
        return matrix(rows.length, packed.hiddenSize, y);
    }

    @Override
    public void applySummed(
            Matrix tokens,
            int[] rows,
            RowGroups groups,
            int[] sums,
            double[] scales,
            int perSum,
            Matrix output,
            int at) {
        check(tokens, rows, groups);
        int count = weights.requireSums(backend, rows.length, sums, scales, perSum, output, at);
        int d = packed.hiddenSize;
        A y = Scratch.of(packed.numbers).outputs(Require.elements(rows.length, d));
        run(kernels.array(tokens), rows, groups, null, y);
        kernels.sumRows(y, d, sums, scales, perSum, kernels.array(output), at, count);
    }

    private void run(A tokens, int[] rows, RowGroups groups, ExpertForward.@Nullable Kept<A> kept, A y) {
        BankRun<A> run = new BankRun<>(packed, workers, tokens, rows, groups, kept, y);
        long cost = run.cost();
        long start = System.nanoTime();
        run.run(cost);
        SpeedWatch.PROCESS.ran(System.nanoTime() - start, cost, workers.threads());
    }

    private Matrix matrix(int rows, int columns, A values) {
        return kernels.matrix(rows, columns, values, false);
    }

    @Override
    public Matrix weight(BankPart part, int expert) {
        if (closed) {
            throw new IllegalStateException("bank: expected an open bank but was closed");
        }
        return weights.get(part)
                .get(Objects.checkIndex(expert, weights.count()))
                .share();
    }

    @Override
    public void close() {
        closed = true;
    }

    private final class Pass implements BankPass {
        private final A tokens;
        private final int[] rows;
        private final RowGroups groups;
        private final ExpertForward.Kept<A> kept;
        private final Matrix output;
        private volatile boolean passClosed;

        Pass(A tokens, int[] rows, RowGroups groups) {
            this.tokens = tokens;
            this.rows = rows;
            this.groups = groups;
            int f = packed.intermediateSize;
            @Nullable A gate = packed.gated() ? kernels.fresh(rows.length, f) : null;
            kept = new ExpertForward.Kept<>(gate, kernels.fresh(rows.length, f), kernels.fresh(rows.length, f));
            A y = kernels.fresh(rows.length, packed.hiddenSize);
            VectorBank.this.run(tokens, rows, groups, kept, y);
            output = matrix(rows.length, packed.hiddenSize, y);
        }

        @Override
        public Matrix output() {
            return output;
        }

        private A gradient(Matrix dOutput) {
            if (passClosed) {
                throw new IllegalStateException("pass: expected an open pass but was closed");
            }
            KernelChecks.gradient(backend, dOutput, output);
            return kernels.array(dOutput);
        }

        private Matrix run(A dOutput, BankBackward.Into<A> into) {
            A dInput = new BankBackward<>(packed, workers).run(groups, tokens, rows, kept, dOutput, into);
            return matrix(rows.length, packed.hiddenSize, dInput);
        }

        @Override
        public BankGradients backward(Matrix dOutput) {
            A d = gradient(dOutput);
            Map<BankPart, Map<Integer, A>> arrays = new EnumMap<>(BankPart.class);
            Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
            for (BankPart part : BankPart.of(packed.activation, packed.biases)) {
                int columns = part.columns(packed.hiddenSize, packed.intermediateSize);
                int count = part.rows(packed.hiddenSize, packed.intermediateSize);
                List<A> fresh = fresh(Require.elements(count, columns));
                for (int e = 0; e < packed.count(); e++) {
                    arrays.computeIfAbsent(part, absent -> new TreeMap<>()).put(e, fresh.get(e));
                    parts.computeIfAbsent(part, absent -> new ArrayList<>()).add(matrix(count, columns, fresh.get(e)));
                }
            }
            return new BankGradients(run(d, new BankBackward.Into<>(arrays)), parts);
        }

        /** One for each expert; a thread that makes an array fills it with zeros, which takes time. */
        private List<A> fresh(int length) {
            AtomicReferenceArray<A> made = new AtomicReferenceArray<>(packed.count());
            workers.forEach(
                    packed.count(),
                    packed.count() * Cost.numbers(length),
                    e -> made.set(e, packed.numbers.array(length)));
            return IntStream.range(0, packed.count()).mapToObj(made::get).toList();
        }

        @Override
        public Matrix backward(Matrix dOutput, Map<BankPart, Map<Integer, Matrix>> into) {
            A d = gradient(dOutput);
            weights.requireBuffers(backend, into);
            Map<BankPart, Map<Integer, A>> arrays = new EnumMap<>(BankPart.class);
            into.forEach((part, buffers) -> buffers.forEach((expert, buffer) ->
                    arrays.computeIfAbsent(part, absent -> new TreeMap<>()).put(expert, kernels.array(buffer))));
            return run(d, new BankBackward.Into<>(arrays));
        }

        @Override
        public void close() {
            passClosed = true;
            output.close();
        }
    }
}
