package org.moe4j.bench.study.budget;

import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
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
import org.moe4j.router.loss.LoadBalancingLoss;

/** Teachers and students of the shared-budget study. */
final class BudgetLayers {
    static final int HIDDEN = 8;

    /** Of the variant without a shared expert. */
    static final int EXPERTS = 8;

    /** Of the variant without a shared expert. */
    static final int TOP_K = 3;

    /** Of a routed expert of the variant without a shared one, and of every shared expert; K divides it. */
    static final int WIDTH = 9;

    /** Of tokens; a teacher has an expert for each. */
    static final int GROUPS = 4;

    static final int TEACHER_WIDTH = 4;

    /** Of a teacher's down projections, so that its output is of the order of its input. */
    private static final double TEACHER_GAIN = 2;

    /** Standard deviation of the noise on the targets; its square is the loss that the teacher itself has. */
    static final double NOISE = 0.5;

    /** Of the load-balancing loss. */
    static final double LOSS_COEFFICIENT = 0.01;

    private BudgetLayers() {}

    /**
     * A teacher: the group of a token is the largest of its first {@link #GROUPS} numbers, so that of standard normal tokens every
     * group has as many.
     */
    static MoeLayer teacher(BudgetTeacher kind, Backend backend, long seed) {
        SplittableRandom seeds = new SplittableRandom(seed);
        double down = TEACHER_GAIN / Math.sqrt(TEACHER_WIDTH);
        double common = kind.commonShare();
        SwiGluExperts ofGroups = experts(
                backend,
                new ExpertShape(GROUPS, HIDDEN, TEACHER_WIDTH),
                seeds.nextLong(),
                down * Math.sqrt(1 - common));
        SwiGluExperts ofAll =
                experts(backend, new ExpertShape(1, HIDDEN, TEACHER_WIDTH), seeds.nextLong(), down * Math.sqrt(common));
        double[] rows = new double[GROUPS * HIDDEN];
        for (int g = 0; g < GROUPS; g++) {
            rows[g * HIDDEN + g] = 1;
        }
        try (Matrix weight = backend.matrix(GROUPS, HIDDEN, rows)) {
            return MoeLayer.of(TopKRouter.of(config(GROUPS, 1), weight), ofGroups)
                    .withShared(SharedBranch.of(ofAll, ScaledMerge.sum()));
        }
    }

    /** A student at its start, merged by {@code r = K·p, s = 1}. */
    static MoeLayer student(BudgetVariant variant, Backend backend, long seed) {
        return student(variant, backend, seed, 1);
    }

    /** The same in widths so many times as large. */
    static MoeLayer student(BudgetVariant variant, Backend backend, long seed, int factor) {
        int hidden = factor * HIDDEN;
        ActiveWidths widths = variant.widths(factor);
        ScaledMerge merge = ScaledMerge.olmo(widths);
        RouterConfig config = config(variant.experts(), variant.topK());
        ExpertShape routed = new ExpertShape(variant.experts(), hidden, widths.routedWidth());
        SplittableRandom seeds = new SplittableRandom(seed);
        try (TopKRouter router = TopKRouter.random(config, hidden, backend, seeds.nextLong())) {
            return MoeLayer.of(
                            router.withLosses(LoadBalancingLoss.olmoCore(LOSS_COEFFICIENT)),
                            experts(backend, routed, seeds.nextLong(), 1 / Math.sqrt(factor * WIDTH)))
                    .withShared(new SharedBranch(
                            variant.shares()
                                    ? List.of(experts(
                                            backend,
                                            new ExpertShape(1, hidden, widths.sharedWidth()),
                                            seeds.nextLong(),
                                            1 / Math.sqrt(factor * WIDTH)))
                                    : List.of(),
                            merge));
        }
    }

    /** Weights of unit sum, as the merge of the students presumes them; of one expert it is 1. */
    static RouterConfig config(int experts, int topK) {
        return RouterConfig.topK(experts, topK).withRenormalization(new Renormalization.SoftmaxOfSelected());
    }

    /** All projections down are drawn alike, so that the variance of an expert's output is as its width. */
    private static SwiGluExperts experts(Backend backend, ExpertShape shape, long seed, double down) {
        return SwiGluExperts.random(
                shape, backend, seed, Initializer.normal(1 / Math.sqrt(shape.hiddenSize())), Initializer.normal(down));
    }
}
