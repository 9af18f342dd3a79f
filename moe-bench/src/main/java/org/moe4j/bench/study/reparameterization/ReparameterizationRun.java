package org.moe4j.bench.study.reparameterization;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Line;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Point;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Run;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.rewrite.ConventionRewrite;

/** One optimizer of the study: two originals, one of which clips, and all that is rewritten from them, on the same tokens. */
final class ReparameterizationRun implements AutoCloseable {
    private static final long SEED = 1;

    private final ReparameterizationSettings settings;
    private final Descent descent;
    private final SplittableRandom seeds = new SplittableRandom(SEED);
    private final MoeLayer teacher;
    private final Examples heldOut;
    private final Trajectory original;
    private final Trajectory clipping;
    private final List<Follower> followers = new ArrayList<>();

    /** A rewritten layer, and what was measured. */
    private record Follower(
            Trajectory trajectory, String convention, double routed, double shared, List<Point> points) {
        Line line() {
            return new Line(trajectory.treatment(), convention, routed, shared, points);
        }
    }

    private ReparameterizationRun(ReparameterizationSettings settings, Descent descent, Backend backend) {
        this.settings = settings;
        this.descent = descent;
        teacher = ReparameterizationLayers.layer(backend, seeds.nextLong());
        heldOut = examples(settings.heldOut());
        long student = seeds.nextLong();
        original = Trajectory.original(descent, Treatment.MAPPED, ReparameterizationLayers.layer(backend, student));
        clipping = Trajectory.original(descent, Treatment.CLIPPED, ReparameterizationLayers.layer(backend, student));
        follow(false);
    }

    private Examples examples(int count) {
        return Examples.draw(teacher, ReparameterizationLayers.NOISE, count, seeds.nextLong());
    }

    /** Those that are rewritten now. */
    private void follow(boolean halfway) {
        for (Treatment treatment : descent.treatments()) {
            if (treatment.startsHalfway() == halfway) {
                ReparameterizationLayers.conventions().forEach(to -> followers.add(follower(treatment, to)));
            }
        }
    }

    private Follower follower(Treatment treatment, ScaledMerge to) {
        ConventionRewrite rewrite = ConventionRewrite.of(original.layer(), to);
        return new Follower(
                original.rewritten(treatment, rewrite),
                to.name(),
                rewrite.routedDown().factor(),
                rewrite.sharedDown().factor(),
                new ArrayList<>());
    }

    static Run run(ReparameterizationSettings settings, Descent descent, Backend backend, Runnable afterStep) {
        try (ReparameterizationRun run = new ReparameterizationRun(settings, descent, backend)) {
            return run.run(afterStep);
        }
    }

    private Run run(Runnable afterStep) {
        double startLoss = loss();
        measure(0);
        for (int step = 1; step <= settings.steps(); step++) {
            step();
            if (step == settings.half()) {
                follow(true);
            }
            if (step % settings.every() == 0) {
                measure(step);
            }
            afterStep.run();
        }
        return new Run(
                descent,
                startLoss,
                loss(),
                Math.min(original.closest(), clipping.closest()),
                clipping.clipped() / (double) settings.steps(),
                followers.stream().map(Follower::line).toList());
    }

    private void step() {
        try (Examples batch = examples(settings.tokens())) {
            original.step(batch);
            clipping.step(batch);
            followers.forEach(follower -> follower.trajectory.step(batch));
        }
    }

    private void measure(int step) {
        Snapshot plain = new Snapshot(original.layer(), heldOut.tokens());
        Snapshot clipped = new Snapshot(clipping.layer(), heldOut.tokens());
        for (Follower follower : followers) {
            Trajectory own = follower.trajectory;
            follower.points.add(new Snapshot(own.layer(), heldOut.tokens())
                    .from(own.treatment().clips() ? clipped : plain, step, own::factor));
        }
    }

    private double loss() {
        try (Matrix output = original.layer().apply(heldOut.tokens())) {
            return heldOut.loss(output);
        }
    }

    @Override
    public void close() {
        followers.forEach(follower -> follower.trajectory.close());
        original.close();
        clipping.close();
        heldOut.close();
        teacher.close();
    }
}
