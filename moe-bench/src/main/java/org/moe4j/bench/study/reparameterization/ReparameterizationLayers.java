package org.moe4j.bench.study.reparameterization;

import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** Teacher, original student and the conventions it is rewritten to. */
final class ReparameterizationLayers {
    static final int HIDDEN = 8;
    static final int EXPERTS = 8;

    /** The report's: powers of two for two of the conventions, and 4.5 and 9 for the third. */
    static final int TOP_K = 4;

    static final int ROUTED_WIDTH = 8;
    static final int SHARED_WIDTH = 4;

    /** Standard deviation of the noise on the targets. */
    static final double NOISE = 0.1;

    private static final ActiveWidths WIDTHS = new ActiveWidths(TOP_K, ROUTED_WIDTH, SHARED_WIDTH);

    private ReparameterizationLayers() {}

    /** What the original is rewritten to, from {@code olmo}. */
    static List<ScaledMerge> conventions() {
        return List.of(
                ScaledMerge.routedUnitSum(WIDTHS),
                ScaledMerge.equalBranchMass(WIDTHS),
                ScaledMerge.widthProportional(WIDTHS));
    }

    /** A random layer; the down projections are larger, so that its output is of the order of its input. */
    static MoeLayer layer(Backend backend, long seed) {
        SplittableRandom seeds = new SplittableRandom(seed);
        RouterConfig router =
                RouterConfig.topK(EXPERTS, TOP_K).withRenormalization(new Renormalization.SoftmaxOfSelected());
        return MoeLayer.of(
                        TopKRouter.random(router, HIDDEN, backend, seeds.nextLong(), Initializer.normal(0.5)),
                        experts(backend, EXPERTS, ROUTED_WIDTH, seeds.nextLong()))
                .withShared(
                        SharedBranch.of(experts(backend, 1, SHARED_WIDTH, seeds.nextLong()), ScaledMerge.olmo(WIDTHS)));
    }

    private static SwiGluExperts experts(Backend backend, int count, int width, long seed) {
        return SwiGluExperts.random(
                new ExpertShape(count, HIDDEN, width),
                backend,
                seed,
                Initializer.normal(1 / Math.sqrt(HIDDEN)),
                Initializer.normal(1 / Math.sqrt(width)));
    }
}
