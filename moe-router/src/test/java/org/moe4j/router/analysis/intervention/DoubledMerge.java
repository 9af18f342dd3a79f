package org.moe4j.router.analysis.intervention;

import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.parameter.Parameters;

/** A merge of tests, {@code 2 · routed + 3 · shared}, for one shared expert and a router of a fixed number of experts. */
record DoubledMerge() implements OutputMerge {
    @Override
    public MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared) {
        Matrix output = tokens.backend().linearCombination(2, routed, 3, shared.get(0));
        return new MergePass() {
            @Override
            public Matrix output() {
                return output;
            }

            @Override
            public BranchGradients backward(Matrix dOutput) {
                throw new AssertionError("nobody goes backward here");
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

    @Override
    public void requireFits(Router router, Experts routed, List<Experts> shared) {
        Require.count("shared", shared.size(), 1, "expert (of this merge)");
        if (!router.fixedCount()) {
            throw Require.expected("router", "a fixed number of experts (of this merge)", "one that varies");
        }
    }

    @Override
    public void requirePlace(WeightPlace place) {
        if (place == WeightPlace.INPUT) {
            throw Require.expected("experts.weightPlace", "output (of this merge)", place);
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
