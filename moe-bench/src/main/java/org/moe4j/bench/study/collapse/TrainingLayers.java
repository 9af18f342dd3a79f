package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.merge.rewrite.Partition;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterPrecision;
import org.moe4j.router.TopKRouter;

/** Teacher and student of one kind of training, and how a student with parts becomes one with a wide expert. */
final class TrainingLayers implements AutoCloseable {
    static final int HIDDEN = 16;
    static final int EXPERTS = 4;
    static final int TOP_K = 2;
    static final int ROUTED_WIDTH = 16;

    /** Those of the figure. */
    static final List<Integer> WIDTHS = List.of(10, 8, 6);

    private static final long TEACHER_SEED = 20;
    private static final long STUDENT_SEED = 76;

    /** In double precision, equal rows have equal logits on every backend. */
    private static final RouterConfig ROUTER = RouterConfig.topK(EXPERTS, TOP_K)
            .withRenormalization(new Renormalization.SoftmaxOfSelected())
            .withPrecision(RouterPrecision.DOUBLE);

    private final TrainingCase training;
    private final Backend backend;
    private final Partition partition;
    private final MoeLayer teacher;

    TrainingLayers(TrainingCase training, Backend backend) {
        this.training = training;
        this.backend = backend;
        partition = new Partition(new SwiGlu(), training.biased(), HIDDEN, WIDTHS);
        teacher = layer(List.of(partition.wide()), TEACHER_SEED);
    }

    /** As 10+8+6. */
    static String widths() {
        return WIDTHS.stream().map(String::valueOf).collect(Collectors.joining("+"));
    }

    /** In all. */
    static int width() {
        return WIDTHS.stream().mapToInt(Integer::intValue).sum();
    }

    /** Gives the targets. */
    MoeLayer teacher() {
        return teacher;
    }

    /** A student whose shared experts are parts. */
    MoeLayer parts() {
        List<ExpertShape> shapes = new ArrayList<>();
        for (int j = 0; j < WIDTHS.size(); j++) {
            shapes.add(partition.part(j));
        }
        return layer(shapes, STUDENT_SEED);
    }

    /** The student with one shared expert that computes the same as the given one. */
    MoeLayer joined(MoeLayer parts) {
        try (MoeLayer anything = layer(List.of(partition.wide()), STUDENT_SEED);
                Parameters ofParts = parts.parameters();
                Parameters ofWide = joined(ofParts, false)) {
            return anything.withParameters(ofWide);
        }
    }

    /**
     * Weights, or what an optimizer keeps for each of them, from the parts to the wide form.
     *
     * @param ofParts under the names of the layer with parts
     * @param moments whether these are what gradients become
     * @return under the names of the wide layer; the caller's
     */
    Parameters joined(Parameters ofParts, boolean moments) {
        Map<String, Matrix> common = new LinkedHashMap<>();
        for (String name : ofParts.names()) {
            if (name.equals("merge.gate")) {
                common.put(name, backend.gatherRows(ofParts.get(name), new int[1]));
            } else if (!name.startsWith("shared.")) {
                common.put(name, ofParts.get(name).share());
            }
        }
        List<Parameters> shared = new ArrayList<>();
        for (int j = 0; j < WIDTHS.size(); j++) {
            shared.add(ofParts.under("shared." + j));
        }
        Parameters wide = moments ? partition.concatenateGradients(shared) : partition.concatenate(shared);
        return Parameters.of(common).and(wide.prefixed("shared.0"));
    }

    private MoeLayer layer(List<ExpertShape> shared, long seed) {
        SplittableRandom seeds = new SplittableRandom(seed);
        TopKRouter router = TopKRouter.random(ROUTER, HIDDEN, backend, seeds.nextLong());
        Experts routed =
                FeedForwardExperts.random(new ExpertShape(EXPERTS, HIDDEN, ROUTED_WIDTH), backend, seeds.nextLong());
        OutputMerge merge = merge(shared.size(), seeds.nextLong());
        List<Experts> experts = new ArrayList<>();
        for (ExpertShape shape : shared) {
            experts.add(FeedForwardExperts.random(shape, backend, seeds.nextLong()));
        }
        return MoeLayer.of(router, routed).withShared(new SharedBranch(experts, merge));
    }

    private OutputMerge merge(int shared, long seed) {
        if (!training.gated()) {
            return ScaledMerge.sum();
        }
        try (GatedMerge one = GatedMerge.random(1, HIDDEN, SharedScore.SIGMOID, backend, seed);
                Matrix equal = backend.gatherRows(one.gate(), new int[shared])) {
            return new GatedMerge(equal, SharedScore.SIGMOID);
        }
    }

    @Override
    public void close() {
        teacher.close();
    }
}
