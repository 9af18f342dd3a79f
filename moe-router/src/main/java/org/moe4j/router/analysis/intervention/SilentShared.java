package org.moe4j.router.analysis.intervention;

import java.util.Collections;
import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;

/** The merge of a branch whose shared experts return zeros, without running them; the routed output is multiplied as before. */
record SilentShared(SharedBranch branch) implements OutputMerge {
    @Override
    public MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared) {
        try (Matrix zeros = tokens.backend().buffer(tokens.rows(), tokens.columns())) {
            return branch.merge()
                    .merge(tokens, routed, Collections.nCopies(branch.experts().size(), zeros));
        }
    }

    @Override
    public void requireFits(Router router, Experts routed, List<Experts> shared) {
        branch.merge().requireFits(router, routed, branch.experts());
    }

    @Override
    public void requirePlace(WeightPlace place) {
        branch.merge().requirePlace(place);
    }

    @Override
    public Parameters parameters() {
        return branch.merge().parameters();
    }

    @Override
    public OutputMerge withParameters(Parameters parameters) {
        return new SilentShared(
                new SharedBranch(branch.experts(), branch.merge().withParameters(parameters)));
    }
}
