package org.moe4j.merge;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.parameter.Parameters;

/** One run of a {@link ScaledMerge}: {@code dR = α·dY}, {@code dS_j = s·dY}. */
final class ScaledPass implements MergePass {
    private final ScaledMerge convention;
    private final Backend backend;
    private final int rows;
    private final int columns;
    private final int branches;
    private final Matrix output;

    ScaledPass(ScaledMerge convention, Matrix routed, List<Matrix> shared) {
        this.convention = convention;
        backend = routed.backend();
        rows = routed.rows();
        columns = routed.columns();
        branches = shared.size();
        output = join(routed, shared);
    }

    private Matrix join(Matrix routed, List<Matrix> shared) {
        if (shared.isEmpty()) {
            return Branches.scaled(routed, convention.routedScale());
        }
        double s = convention.sharedScale();
        Matrix sum = backend.linearCombination(convention.routedScale(), routed, s, shared.get(0));
        for (Matrix more : shared.subList(1, branches)) {
            try (Matrix soFar = sum) {
                sum = backend.linearCombination(1, soFar, s, more);
            }
        }
        return sum;
    }

    @Override
    public Matrix output() {
        return output;
    }

    @Override
    public BranchGradients backward(Matrix dOutput) {
        KernelChecks.owner("dOutput", dOutput, backend);
        KernelChecks.shape("dOutput", dOutput, rows, columns, "shape of the output");
        Matrix dRouted = Branches.scaled(dOutput, convention.routedScale());
        try {
            return new BranchGradients(dRouted, dShared(dOutput, dRouted), Optional.empty(), Parameters.none());
        } catch (RuntimeException | Error e) {
            dRouted.close();
            throw e;
        }
    }

    /** One matrix, and a handle on it for every branch. */
    private List<Matrix> dShared(Matrix dOutput, Matrix dRouted) {
        List<Matrix> dShared = new ArrayList<>(branches);
        double s = convention.sharedScale();
        for (int j = 0; j < branches; j++) {
            dShared.add(
                    j > 0
                            ? dShared.get(0).share()
                            : s == convention.routedScale() ? dRouted.share() : Branches.scaled(dOutput, s));
        }
        return dShared;
    }

    @Override
    public double routedFactor(int token) {
        Objects.checkIndex(token, rows);
        return convention.routedScale();
    }

    @Override
    public double sharedFactor(int token, int branch) {
        Objects.checkIndex(token, rows);
        Objects.checkIndex(branch, branches);
        return convention.sharedScale();
    }
}
