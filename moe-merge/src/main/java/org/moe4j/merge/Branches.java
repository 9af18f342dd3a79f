package org.moe4j.merge;

import java.util.Arrays;
import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;

/** The branch outputs that meet in a merge: their checks, and a whole branch times one factor. */
final class Branches {
    private Branches() {}

    /** Refuses branches that have not the shape or not the backend of the tokens. */
    static void require(Matrix tokens, Matrix routed, List<Matrix> shared) {
        Backend backend = tokens.backend();
        KernelChecks.owner("routed", routed, backend);
        KernelChecks.shape("routed", routed, tokens.rows(), tokens.columns(), "shape of tokens");
        for (int j = 0; j < shared.size(); j++) {
            KernelChecks.owner("shared[" + j + "]", shared.get(j), backend);
            KernelChecks.shape("shared[" + j + "]", shared.get(j), tokens.rows(), tokens.columns(), "shape of tokens");
        }
    }

    /** A matrix of the caller's: the given one times a factor, or another handle on it when the factor is 1. */
    static Matrix scaled(Matrix branch, double factor) {
        if (factor == 1) {
            return branch.share();
        }
        double[] factors = new double[branch.rows()];
        Arrays.fill(factors, factor);
        return branch.backend().scaleRows(branch, factors);
    }
}
