package org.moe4j.core.layer;

import java.util.List;
import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/** A merge of tests: {@code 2 · routed + 3 · Σ shared}. */
final class WeightedMerge implements OutputMerge {
    @Override
    public MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared) {
        Matrix sum = routed.backend().linearCombination(2, routed, 0, routed);
        for (Matrix branch : shared) {
            try (Matrix soFar = sum) {
                sum = routed.backend().linearCombination(1, soFar, 3, branch);
            }
        }
        Matrix output = sum;
        return new MergePass() {
            @Override
            public Matrix output() {
                return output;
            }

            @Override
            public BranchGradients backward(Matrix dOutput) {
                try (Unfinished made = new Unfinished()) {
                    Matrix dRouted = made.add(times(2, dOutput));
                    List<Matrix> dShared = shared.stream()
                            .map(branch -> made.add(times(3, dOutput)))
                            .toList();
                    made.keep();
                    return new BranchGradients(dRouted, dShared, Optional.empty(), Parameters.none());
                }
            }

            @Override
            public double routedFactor(int token) {
                return 2;
            }

            @Override
            public double sharedFactor(int token, int branch) {
                return 3;
            }
        };
    }

    private static Matrix times(double factor, Matrix a) {
        return a.backend().linearCombination(factor, a, 0, a);
    }

    @Override
    public void requireFits(Router router, Experts routed, List<Experts> shared) {
        if (shared.size() > 2) {
            throw Require.expected("shared", "at most 2 experts (of this merge of tests)", shared.size());
        }
    }

    @Override
    public Parameters parameters() {
        return Parameters.none();
    }

    @Override
    public OutputMerge withParameters(Parameters parameters) {
        return this;
    }
}
