package org.moe4j.core.nd4j;

import java.util.List;
import java.util.Objects;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;

/** What one forward run keeps: the gathered rows, both projections, hidden and the output; and a hold on the weights. */
final class HostPass implements BankPass {
    private final HostKernels kernels;
    private final HostExperts experts;
    private final RowGroups groups;
    private final Operand x;
    private final HostExperts.Inner inner;
    private final HostMatrix output;
    private final Held kept;
    private final Claim claim;

    private HostPass(
            HostKernels kernels,
            HostExperts experts,
            RowGroups groups,
            Operand x,
            HostExperts.Inner inner,
            Bundle kept) {
        this.kernels = kernels;
        this.experts = experts;
        this.groups = groups;
        this.x = x;
        this.inner = inner;
        this.kept = kept;
        this.claim = Claim.of(this, kept);
        this.output = kernels.fresh(groups.rows(), experts.hiddenSize(), false);
    }

    /** Runs the experts on rows and weights that the caller holds. */
    static HostPass run(HostKernels kernels, HostExperts experts, Operand x, RowGroups groups) {
        long bytes = (long) groups.rows()
                * experts.intermediateSize()
                * kernels.elements().bytes();
        try (Lease lease = new Lease()) {
            NativeBuffer gate = lease.scratch(bytes);
            NativeBuffer up = lease.scratch(bytes);
            HostExperts.Inner inner = new HostExperts.Inner(gate, up, lease.scratch(bytes));
            lease.share(x.buffer());
            lease.share(experts.weights());
            HostPass pass = new HostPass(kernels, experts, groups, x, inner, lease.keepAll());
            NativeBuffer y = lease.of(pass.output);
            experts.hidden(groups, x, inner);
            experts.output(groups, inner.hidden(), Operand.of(y, 0, experts.hiddenSize()));
            return pass;
        }
    }

    private static NativeBuffer gate(HostExperts.Inner inner) {
        return Objects.requireNonNull(inner.gate());
    }

    private static NativeBuffer up(HostExperts.Inner inner) {
        return Objects.requireNonNull(inner.up());
    }

    @Override
    public Matrix output() {
        return output;
    }

    @Override
    public BankGradients backward(Matrix dOutput) {
        KernelChecks.gradient(kernels.backend(), dOutput, output);
        claim.retain(this, "pass");
        int hiddenSize = experts.hiddenSize();
        int intermediateSize = experts.intermediateSize();
        try (Lease lease = new Lease()) {
            Operand d = Operand.of(lease.of(dOutput), 0, hiddenSize);
            long bytes =
                    (long) groups.rows() * intermediateSize * kernels.elements().bytes();
            NativeBuffer dGate = lease.scratch(bytes);
            NativeBuffer dUp = lease.scratch(bytes);
            HostExperts.Inner dInner = new HostExperts.Inner(dGate, dUp, inner.hidden());
            Matrix dInput = kernels.fresh(groups.rows(), hiddenSize, false);
            List<Matrix> gates = kernels.gradients(groups, intermediateSize, hiddenSize);
            List<Matrix> ups = kernels.gradients(groups, intermediateSize, hiddenSize);
            List<Matrix> downs = kernels.gradients(groups, hiddenSize, intermediateSize);
            experts.innerGradients(groups, d, gate(inner), up(inner), dInner);
            HostExperts.Into into =
                    new HostExperts.Into(lease.of(dInput), lease.of(gates), lease.of(ups), lease.of(downs));
            experts.gradients(groups, x, d, inner.hidden(), dInner, into);
            return new BankGradients(dInput, gates, ups, downs);
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
