package org.moe4j.merge;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.parameter.Parameters;

/**
 * One run of a {@link GatedMerge}. It has no handles of its own but the output's, which is the caller's: tokens, shared
 * outputs and gate are read again by the handles that were given.
 */
final class GatedPass implements MergePass {
    private final GatedMerge merge;
    private final Matrix tokens;
    private final List<Matrix> shared;
    private final double[] z; // T·n
    private final double[] coefficients; // T·n
    private final Matrix output;

    GatedPass(GatedMerge merge, Matrix tokens, Matrix routed, List<Matrix> shared) {
        this.merge = merge;
        this.tokens = tokens;
        this.shared = List.copyOf(shared);
        try (Matrix product = tokens.backend().matmulTransB(tokens, merge.gate())) {
            z = product.toArray();
        }
        requireNumbers();
        coefficients = merge.score().coefficients(z, shared.size());
        output = join(routed);
    }

    private void requireNumbers() {
        boolean normalized = merge.score().normalized();
        for (int i = 0; i < z.length; i++) {
            if (normalized ? !Double.isFinite(z[i]) : Double.isNaN(z[i])) {
                throw new ArithmeticException("merge gate: expected " + (normalized ? "finite numbers" : "numbers")
                        + " but token " + i / shared.size() + ", shared expert " + i % shared.size() + " is " + z[i]);
            }
        }
    }

    private Matrix join(Matrix routed) {
        Backend backend = routed.backend();
        Matrix sum = routed.share();
        for (int j = 0; j < shared.size(); j++) {
            try (Matrix soFar = sum;
                    Matrix gated = backend.scaleRows(shared.get(j), ofExpert(j))) {
                sum = backend.add(soFar, gated);
            }
        }
        return sum;
    }

    /** The T coefficients of one shared expert. */
    private double[] ofExpert(int expert) {
        double[] ofExpert = new double[tokens.rows()];
        for (int t = 0; t < ofExpert.length; t++) {
            ofExpert[t] = coefficients[t * shared.size() + expert];
        }
        return ofExpert;
    }

    @Override
    public Matrix output() {
        return output;
    }

    /**
     * {@code dc_tj = ⟨dY_t, S_jt⟩}, dz as {@link SharedScore#backward} says, {@code dG = dzᵀ·X}, {@code dX = dz·G},
     * {@code dS_j = c_j⊙dY}, {@code dR = dY}.
     */
    @Override
    public BranchGradients backward(Matrix dOutput) {
        return backward(
                dOutput, dZ -> Parameters.of(GatedMerge.GATE, tokens.backend().matmulTransA(dZ, tokens)));
    }

    @Override
    public BranchGradients backward(Matrix dOutput, Set<String> wanted, Parameters into) {
        return backward(dOutput, dZ -> {
            if (wanted.contains(GatedMerge.GATE)) {
                Map<Integer, Matrix> gate = Map.of(0, into.get(GatedMerge.GATE));
                tokens.backend().accumulateMatmulTransA(dZ, tokens, RowGroups.single(dZ.rows()), gate);
            }
            return Parameters.none();
        });
    }

    private BranchGradients backward(Matrix dOutput, Function<Matrix, Parameters> parameters) {
        Backend backend = tokens.backend();
        KernelChecks.owner("dOutput", dOutput, backend);
        KernelChecks.shape("dOutput", dOutput, tokens.rows(), tokens.columns(), "shape of the output");
        double[] dz = merge.score().backward(z, coefficients, dCoefficients(dOutput), shared.size());
        List<Matrix> made = new ArrayList<>();
        try (Matrix dZ = backend.matrix(tokens.rows(), shared.size(), dz)) {
            for (int j = 0; j < shared.size(); j++) {
                made.add(backend.scaleRows(dOutput, ofExpert(j)));
            }
            List<Matrix> dShared = List.copyOf(made);
            Matrix dTokens = backend.matmul(dZ, merge.gate());
            made.add(dTokens);
            Parameters dGate = parameters.apply(dZ);
            return new BranchGradients(dOutput.share(), dShared, Optional.of(dTokens), dGate);
        } catch (RuntimeException | Error e) {
            made.forEach(Matrix::close);
            throw e;
        }
    }

    private double[] dCoefficients(Matrix dOutput) {
        double[] dCoefficients = new double[coefficients.length];
        for (int j = 0; j < shared.size(); j++) {
            double[] ofExpert = dOutput.backend().rowDots(dOutput, shared.get(j));
            for (int t = 0; t < ofExpert.length; t++) {
                dCoefficients[t * shared.size() + j] = ofExpert[t];
            }
        }
        return dCoefficients;
    }

    @Override
    public double routedFactor(int token) {
        Objects.checkIndex(token, tokens.rows());
        return 1;
    }

    @Override
    public double sharedFactor(int token, int branch) {
        Objects.checkIndex(token, tokens.rows());
        return coefficients[token * shared.size() + Objects.checkIndex(branch, shared.size())];
    }
}
