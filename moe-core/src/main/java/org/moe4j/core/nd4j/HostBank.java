package org.moe4j.core.nd4j;

import java.util.Objects;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.internal.Unfinished;

/** A bank on host memory: it shares the weights it was given, copies nothing, and runs its experts fused. */
final class HostBank implements Bank {
    /** Elements of scratch per run of {@link #apply}, about; more rows are worked off in several waves. */
    private static final long WAVE_ELEMENTS = 1L << 25;

    private final HostKernels kernels;
    private final BankWeights weights;
    private final HostExperts experts;
    private final long waveElements;
    private final Claim claim;

    HostBank(HostKernels kernels, BankWeights weights) {
        this(kernels, weights, WAVE_ELEMENTS);
    }

    HostBank(HostKernels kernels, BankWeights weights, long waveElements) {
        this.waveElements = waveElements;
        this.kernels = kernels;
        this.weights = weights.share(); // first, as it fails when a handle is closed
        experts = new HostExperts(kernels, this.weights);
        claim = Claim.of(this, experts.weights());
    }

    private Held retainWeights() {
        claim.retain(this, "bank");
        return experts.weights();
    }

    @Override
    public BankPass forward(Matrix tokens, int[] rows, RowGroups groups) {
        weights.requireRun(kernels.backend(), tokens, rows, groups);
        Held held = retainWeights();
        try (Lease lease = new Lease()) {
            Operand x = gathered(lease, tokens, rows, 0, rows.length);
            return HostPass.run(kernels, experts, weights, x, groups);
        } finally {
            held.release(false);
        }
    }

    /** Rows {@code from … to − 1} of a run; consecutive tokens are used where they are. */
    private Operand gathered(Lease lease, Matrix tokens, int[] rows, int from, int to) {
        int columns = experts.hiddenSize();
        NativeBuffer source = lease.of(tokens);
        boolean consecutive = !((HostMatrix) tokens).isBuffer(); // a pass must not see later changes
        for (int i = from + 1; i < to && consecutive; i++) {
            consecutive = rows[i] == rows[i - 1] + 1;
        }
        if (consecutive && from < to) {
            return Operand.of(source, (long) rows[from] * columns, columns);
        }
        NativeBuffer x =
                lease.scratch((long) (to - from) * columns * kernels.elements().bytes());
        kernels.rowLoops().gather(source, columns, rows, from, to, x);
        return Operand.of(x, 0, columns);
    }

    @Override
    public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
        weights.requireRun(kernels.backend(), tokens, rows, groups);
        Held held = retainWeights();
        try (Unfinished made = new Unfinished();
                Lease lease = new Lease()) {
            HostMatrix y = made.add(kernels.fresh(rows.length, experts.hiddenSize(), false));
            NativeBuffer target = lease.of(y);
            long perRow = (long) experts.hiddenSize() + experts.intermediateSize() + 1;
            int wave = (int) Math.max(1, Math.min(rows.length, waveElements / perRow));
            for (int from = 0; from < rows.length; from += Math.min(wave, rows.length - from)) {
                int to = from + Math.min(wave, rows.length - from);
                applyWave(tokens, rows, from, to, groups, target);
            }
            made.keep();
            return y;
        } finally {
            held.release(false);
        }
    }

    private void applyWave(Matrix tokens, int[] rows, int from, int to, RowGroups groups, NativeBuffer y) {
        RowGroups part = part(groups, from, to);
        int columns = experts.hiddenSize();
        try (Lease lease = new Lease()) {
            Operand x = gathered(lease, tokens, rows, from, to);
            NativeBuffer hidden = lease.scratch((long) (to - from)
                    * experts.intermediateSize()
                    * kernels.elements().bytes());
            experts.hidden(part, x, new HostExperts.Inner(null, null, hidden));
            experts.output(part, hidden, Operand.of(y, (long) from * columns, columns));
        }
    }

    /** The groups as far as they lie in rows {@code from … to − 1}. */
    private static RowGroups part(RowGroups groups, int from, int to) {
        int[] sizes = new int[groups.count()];
        for (int g = 0; g < sizes.length; g++) {
            sizes[g] = Math.max(0, Math.min(to, groups.to(g)) - Math.max(from, groups.from(g)));
        }
        return RowGroups.ofSizes(sizes);
    }

    @Override
    public Matrix weight(BankPart part, int expert) {
        return weights.get(part)
                .get(Objects.checkIndex(expert, weights.count()))
                .share();
    }

    @Override
    public void close() {
        claim.close();
        weights.close();
    }
}
