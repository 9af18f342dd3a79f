package org.moe4j.core.layer;

import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.layer.MergePass.BranchGradients;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** One forward run of the shared experts and the merge. */
record SharedPass(Matrix tokens, List<ExpertsPass> passes, List<Matrix> outputs, MergePass merge)
        implements AutoCloseable {
    /** Gradient of the routed output, and what the branch adds to the gradients of tokens and parameters. */
    record SharedGradients(Matrix routed, Matrix tokens, Parameters parameters) implements AutoCloseable {
        @Override
        public void close() {
            routed.close();
            tokens.close();
            parameters.close();
        }
    }

    SharedGradients backward(Matrix dOutput) {
        Backend backend = dOutput.backend();
        BranchGradients d = merge.backward(dOutput);
        Matrix dTokens = d.tokens().orElseGet(() -> backend.buffer(tokens.rows(), tokens.columns()));
        Parameters dParameters = d.parameters().prefixed("merge");
        for (int i = passes.size() - 1; i >= 0; i--) {
            try (Matrix dShared = d.shared().get(i)) {
                Gradients dExpert = passes.get(i).backward(dShared);
                dParameters = SharedBranch.sharedNames(dExpert.parameters(), i).and(dParameters);
                try (Matrix soFar = dTokens;
                        Matrix more = dExpert.input()) {
                    dTokens = backend.add(soFar, more);
                }
            }
        }
        return new SharedGradients(d.routed(), dTokens, dParameters);
    }

    @Override
    public void close() {
        passes.forEach(ExpertsPass::close);
    }
}
