package org.moe4j.examples;

import java.util.Arrays;
import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.rewrite.Collapsibility;
import org.moe4j.merge.rewrite.SharedBranchCollapse;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** Two shared experts that are added are one wider expert: the verdict, the rewritten layer, and the same output. */
public final class CollapseShared {
    private static final Backend BACKEND = Backends.best();
    private static final int HIDDEN = 16;

    private CollapseShared() {}

    private static SwiGluExperts bank(int count, int width, long seed) {
        return SwiGluExperts.random(new ExpertShape(count, HIDDEN, width), BACKEND, seed);
    }

    public static void main(String[] args) {
        try (MoeLayer two = MoeLayer.of(
                                TopKRouter.random(RouterConfig.topK(8, 2), HIDDEN, BACKEND, 1L), bank(8, 16, 2L))
                        .withShared(new SharedBranch(List.of(bank(1, 24, 3L), bank(1, 8, 4L)), ScaledMerge.sum()));
                Matrix tokens = Initializer.normal(1).draw(BACKEND, 100, HIDDEN, 5L)) {
            System.out.println(Collapsibility.of(two, tokens));
            try (MoeLayer one = SharedBranchCollapse.collapse(two);
                    Matrix before = two.apply(tokens);
                    Matrix after = one.apply(tokens);
                    Matrix difference = BACKEND.linearCombination(1, before, -1, after)) {
                int banks = one.shared().orElseThrow().experts().size();
                int width = one.shared().orElseThrow().experts().get(0).shape().intermediateSize();
                double relative = largest(difference) / largest(before);
                System.out.println(banks + " shared expert of width " + width + "; outputs differ by " + relative);
                if (banks != 1 || width != 24 + 8 || relative > 1e-5) {
                    throw new IllegalStateException("the collapsed layer is another function");
                }
            }
        }
    }

    private static double largest(Matrix matrix) {
        return Arrays.stream(matrix.toArray()).map(Math::abs).max().orElse(0);
    }
}
