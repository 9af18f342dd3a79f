package org.moe4j.bench.study.balancing;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** Teacher and student of one seed of the balancing study: layers of the same kind, with the same shared expert. */
final class BalancingLayers implements AutoCloseable {
    static final int HIDDEN = 8;
    static final int EXPERTS = 8;
    static final int TOP_K = 2;
    static final int TEACHER_WIDTH = 4;

    /** A student as narrow as its teacher gets stuck: its few neurons have to find the teacher's one by one. */
    static final int STUDENT_WIDTH = 16;

    static final int SHARED_WIDTH = 4;

    /** Standard deviation of the noise on the targets; its square is the loss that the teacher itself has. */
    static final double NOISE = 0.5;

    /** Of a teacher's logits, and of a student's before its router favours anybody. */
    static final double LOGIT_DEVIATION = 3;

    /**
     * Share of the teacher's row in a student's row at the start. With unrelated rows about one student in seven, however it
     * is balanced, ends with two experts for one of the teacher's, 5 to 20 % above its loss.
     */
    static final double LIKENESS = 0.7;

    /** Experts that a student's router favours at the start, just as many as a token gets. */
    static final int FAVOURED = TOP_K;

    /** What their logits have more than those of the others. */
    static final double FAVOUR = 6;

    private static final RouterConfig ROUTER = RouterConfig.topK(EXPERTS, TOP_K)
            .withRenormalization(new Renormalization.SoftmaxOfSelected())
            .withLogitBias(true);

    private final Backend backend;
    private final long studentSeed;
    private final double[] teacherRows;
    private final MoeLayer teacher;

    BalancingLayers(Backend backend, long seed) {
        this.backend = backend;
        SplittableRandom seeds = new SplittableRandom(seed);
        studentSeed = seeds.nextLong();
        // the down projections are larger, so that the teacher's output is of the order of its input
        SwiGluExperts routed = experts(EXPERTS, TEACHER_WIDTH, seeds.nextLong(), 2);
        SwiGluExperts shared = experts(1, SHARED_WIDTH, seeds.nextLong(), 2);
        teacherRows = orthogonal(normal(seeds.nextLong()));
        teacher = MoeLayer.of(router(teacherRows, 0), routed).withShared(SharedBranch.of(shared, ScaledMerge.sum()));
    }

    /** Gives the targets. */
    MoeLayer teacher() {
        return teacher;
    }

    /** A new student; every one is the same, and has weights of its own. */
    MoeLayer student() {
        SplittableRandom seeds = new SplittableRandom(studentSeed);
        SwiGluExperts teachersShared =
                (SwiGluExperts) teacher.shared().orElseThrow().experts().get(0);
        SwiGluExperts routed = experts(EXPERTS, STUDENT_WIDTH, seeds.nextLong(), 1);
        double[] rows = orthogonal(normal(seeds.nextLong()));
        for (int i = 0; i < rows.length; i++) {
            rows[i] = LIKENESS * teacherRows[i] + Math.sqrt(1 - LIKENESS * LIKENESS) * rows[i];
        }
        try (SwiGluWeights shared = teachersShared.expert(0)) {
            return MoeLayer.of(router(orthogonal(rows), FAVOUR), routed)
                    .withShared(SharedBranch.of(SwiGluExperts.of(List.of(shared)), ScaledMerge.sum()));
        }
    }

    private SwiGluExperts experts(int count, int width, long seed, double gain) {
        return SwiGluExperts.random(
                new ExpertShape(count, HIDDEN, width),
                backend,
                seed,
                Initializer.normal(1 / Math.sqrt(HIDDEN)),
                Initializer.normal(gain / Math.sqrt(width)));
    }

    private double[] normal(long seed) {
        try (Matrix drawn = Initializer.normal(1).draw(backend, EXPERTS, HIDDEN, seed)) {
            return drawn.toArray();
        }
    }

    /**
     * With orthogonal rows of equal length the logits of a standard normal token are independent and alike, so that every
     * expert is as likely as any other, but for the favour of the first ones.
     */
    private TopKRouter router(double[] orthogonalRows, double favour) {
        double[] bias = new double[EXPERTS];
        Arrays.fill(bias, 0, FAVOURED, favour);
        try (Matrix rows = backend.matrix(EXPERTS, HIDDEN, orthogonalRows);
                Matrix favours = backend.matrix(1, EXPERTS, bias)) {
            return TopKRouter.of(ROUTER, rows, favours);
        }
    }

    /** Gram and Schmidt's rows, each {@link #LOGIT_DEVIATION} long. */
    private static double[] orthogonal(double[] rows) {
        for (int i = 0; i < EXPERTS; i++) {
            for (int j = 0; j < i; j++) {
                addRow(rows, i, -dot(rows, i, j) / dot(rows, j, j), j);
            }
        }
        for (int i = 0; i < EXPERTS; i++) {
            addRow(rows, i, LOGIT_DEVIATION / Math.sqrt(dot(rows, i, i)) - 1, i);
        }
        return rows;
    }

    private static void addRow(double[] rows, int to, double factor, int from) {
        for (int k = 0; k < HIDDEN; k++) {
            rows[to * HIDDEN + k] += factor * rows[from * HIDDEN + k];
        }
    }

    private static double dot(double[] rows, int i, int j) {
        double sum = 0;
        for (int k = 0; k < HIDDEN; k++) {
            sum += rows[i * HIDDEN + k] * rows[j * HIDDEN + k];
        }
        return sum;
    }

    @Override
    public void close() {
        teacher.close();
    }
}
