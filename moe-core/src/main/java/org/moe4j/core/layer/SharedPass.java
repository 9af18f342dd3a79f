package org.moe4j.core.layer;

import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.internal.Closing;
import org.moe4j.core.layer.MergePass.BranchGradients;

/** One forward run of the shared experts and the merge. */
record SharedPass(Matrix tokens, List<ExpertsPass> passes, List<Matrix> outputs, MergePass merge)
        implements AutoCloseable {
    /** Gradient of the routed output, and what the branch adds to the gradient of the tokens. */
    record SharedGradients(Matrix routed, Matrix tokens) implements AutoCloseable {
        @Override
        public void close() {
            routed.close();
            tokens.close();
        }
    }

    SharedGradients backward(Matrix dOutput, GradientSink sink) {
        Backend backend = dOutput.backend();
        try (BranchGradients d = sink.merge(merge, dOutput)) {
            Matrix dTokens =
                    d.tokens().map(Matrix::share).orElseGet(() -> backend.buffer(tokens.rows(), tokens.columns()));
            for (int i = passes.size() - 1; i >= 0; i--) {
                try (Matrix soFar = dTokens;
                        Matrix more = sink.shared(passes.get(i), i, d.shared().get(i))) {
                    dTokens = backend.add(soFar, more);
                }
            }
            return new SharedGradients(d.routed().share(), dTokens);
        }
    }

    @Override
    public void close() {
        Closing.each(passes, ExpertsPass::close);
    }
}
