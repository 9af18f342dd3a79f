package org.moe4j.core.nd4j;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.internal.Unfinished;

/** What one forward run keeps: the gathered rows, both projections, hidden and the output; and a hold on the weights. */
final class HostPass implements BankPass {
    private final HostKernels kernels;
    private final HostExperts experts;
    private final BankWeights weights; // for shapes; the experts hold the memory
    private final RowGroups groups;
    private final Operand x;
    private final HostExperts.Inner inner;
    private final HostMatrix output;
    private final Held kept;
    private final Claim claim;

    private HostPass(
            HostKernels kernels,
            HostExperts experts,
            BankWeights weights,
            RowGroups groups,
            Operand x,
            HostExperts.Inner inner,
            HostMatrix output,
            Supplier<Bundle> kept) {
        this.kernels = kernels;
        this.experts = experts;
        this.weights = weights;
        this.groups = groups;
        this.x = x;
        this.inner = inner;
        this.kept = kept.get();
        this.claim = Claim.of(this, this.kept);
        this.output = output;
    }

    /** Runs the experts on rows and weights that the caller holds. */
    static HostPass run(HostKernels kernels, HostExperts experts, BankWeights weights, Operand x, RowGroups groups) {
        long bytes = (long) groups.rows()
                * experts.intermediateSize()
                * kernels.elements().bytes();
        try (Unfinished made = new Unfinished();
                Lease lease = new Lease()) {
            NativeBuffer gate = experts.gated() ? lease.scratch(bytes) : null;
            NativeBuffer up = lease.scratch(bytes);
            HostExperts.Inner inner = new HostExperts.Inner(gate, up, lease.scratch(bytes));
            lease.share(x.buffer());
            lease.share(experts.weights());
            HostMatrix output = made.add(kernels.fresh(groups.rows(), experts.hiddenSize(), false));
            HostPass pass = made.add(new HostPass(kernels, experts, weights, groups, x, inner, output, lease::keepAll));
            NativeBuffer y = lease.of(output);
            experts.hidden(groups, x, inner);
            experts.output(groups, inner.hidden(), Operand.of(y, 0, experts.hiddenSize()));
            made.keep();
            return pass;
        }
    }

    @Override
    public Matrix output() {
        return output;
    }

    @Override
    public BankGradients backward(Matrix dOutput) {
        Map<BankPart, List<Matrix>> fresh = new EnumMap<>(BankPart.class);
        Map<BankPart, Map<Integer, Matrix>> into = new EnumMap<>(BankPart.class);
        try (Unfinished made = new Unfinished()) {
            Matrix dInput = backward(dOutput, false, () -> {
                weights.parts().keySet().forEach(part -> {
                    int rows = part.rows(experts.hiddenSize(), experts.intermediateSize());
                    int columns = part.columns(experts.hiddenSize(), experts.intermediateSize());
                    fresh.put(part, kernels.gradients(groups, rows, columns, made));
                });
                fresh.forEach((part, matrices) -> into.put(part, Lease.byIndex(matrices)));
                return into;
            });
            made.keep();
            return new BankGradients(dInput, fresh);
        }
    }

    @Override
    public Matrix backward(Matrix dOutput, Map<BankPart, Map<Integer, Matrix>> into) {
        weights.requireBuffers(kernels.backend(), into);
        return backward(dOutput, true, () -> into);
    }

    private Matrix backward(Matrix dOutput, boolean add, Supplier<Map<BankPart, Map<Integer, Matrix>>> targets) {
        KernelChecks.gradient(kernels.backend(), dOutput, output);
        claim.retain(this, "pass");
        try (Unfinished made = new Unfinished();
                Lease lease = new Lease()) {
            Operand d = Operand.of(lease.of(dOutput), 0, experts.hiddenSize());
            long bytes = (long) groups.rows()
                    * experts.intermediateSize()
                    * kernels.elements().bytes();
            NativeBuffer dGate = experts.gated() ? lease.scratch(bytes) : null;
            HostExperts.Inner dInner = new HostExperts.Inner(dGate, lease.scratch(bytes), inner.hidden());
            Map<BankPart, Map<Integer, NativeBuffer>> buffers = new EnumMap<>(BankPart.class);
            targets.get().forEach((part, matrices) -> buffers.put(part, lease.of(matrices)));
            Matrix dInput = made.add(kernels.fresh(groups.rows(), experts.hiddenSize(), false));
            experts.innerGradients(groups, d, inner, dInner);
            experts.gradients(groups, x, d, dInner, new HostExperts.Into(lease.of(dInput), buffers, add));
            made.keep();
            return dInput;
        } finally {
            kept.release(false);
        }
    }

    @Override
    public void close() {
        claim.close();
        output.close();
    }
}
