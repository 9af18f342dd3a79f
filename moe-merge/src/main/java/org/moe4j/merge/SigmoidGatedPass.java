package org.moe4j.merge;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.parameter.Parameters;

/**
 * One run of a {@link SigmoidGatedMerge}. It has no handles of its own but the output's, which is the caller's: tokens,
 * shared output and gate are read again by the handles that were given.
 */
final class SigmoidGatedPass implements MergePass {
    private final Matrix gate;
    private final Matrix tokens;
    private final Matrix shared;
    private final double[] sigma; // per token
    private final Matrix output;

    SigmoidGatedPass(Matrix gate, Matrix tokens, Matrix routed, Matrix shared) {
        this.gate = gate;
        this.tokens = tokens;
        this.shared = shared;
        Backend backend = gate.backend();
        try (Matrix z = backend.matmulTransB(tokens, gate)) {
            sigma = z.toArray();
        }
        for (int t = 0; t < sigma.length; t++) {
            if (Double.isNaN(sigma[t])) {
                throw new ArithmeticException("merge gate: expected numbers but token " + t + " is NaN");
            }
            sigma[t] = 1 / (1 + StrictMath.exp(-sigma[t]));
        }
        try (Matrix gated = backend.scaleRows(shared, sigma)) {
            output = backend.add(routed, gated);
        }
    }

    @Override
    public Matrix output() {
        return output;
    }

    /** {@code dz_t = ⟨dY_t, S_t⟩·σ_t·(1 − σ_t)}, {@code dg = dzᵀ·X}, {@code dX = dz·g}, {@code dS = σ⊙dY}, {@code dR = dY}. */
    @Override
    public BranchGradients backward(Matrix dOutput) {
        Backend backend = gate.backend();
        KernelChecks.owner("dOutput", dOutput, backend);
        KernelChecks.shape("dOutput", dOutput, sigma.length, gate.columns(), "shape of the output");
        double[] dz = backend.rowDots(dOutput, shared);
        for (int t = 0; t < dz.length; t++) {
            dz[t] *= sigma[t] * (1 - sigma[t]);
        }
        try (Matrix dZ = backend.matrix(dz.length, 1, dz)) {
            return new BranchGradients(
                    dOutput.share(),
                    List.of(backend.scaleRows(dOutput, sigma)),
                    Optional.of(backend.matmul(dZ, gate)),
                    Parameters.of("gate", backend.matmulTransA(dZ, tokens)));
        }
    }

    @Override
    public double routedFactor(int token) {
        Objects.checkIndex(token, sigma.length);
        return 1;
    }

    @Override
    public double sharedFactor(int token, int branch) {
        Objects.checkIndex(branch, 1);
        return sigma[Objects.checkIndex(token, sigma.length)];
    }
}
