package org.moe4j.bench.study.reparameterization;

import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.moe4j.bench.optimizer.GradientClipping;
import org.moe4j.bench.optimizer.Optimizer;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.TrainedLayer;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.rewrite.ConventionRewrite;
import org.moe4j.merge.rewrite.Rescaling;
import org.moe4j.router.TopKPass;

/** A layer in training, the original or a rewritten one. Everything in it is learned. */
final class Trajectory implements AutoCloseable {
    static final GradientClipping CLIPPING = new GradientClipping(2);

    private final Descent descent;
    private final Treatment treatment;
    private final Function<String, Rescaling> rescaling;
    private final TrainedLayer trained;
    private double closest = Double.POSITIVE_INFINITY;
    private int clipped;

    private Trajectory(
            Descent descent,
            Treatment treatment,
            Function<String, Rescaling> rescaling,
            MoeLayer start,
            TrainedLayer.Choice choice) {
        this.descent = descent;
        this.treatment = treatment;
        this.rescaling = rescaling;
        trained = new TrainedLayer(start, choice);
    }

    /** The original; takes over the layer. */
    static Trajectory original(Descent descent, Treatment treatment, MoeLayer start) {
        Factors one = Factors.of(descent, treatment, Rescaling.none());
        return new Trajectory(
                descent,
                treatment,
                name -> Rescaling.none(),
                start,
                (name, value) -> Optional.of(descent.start(value.toArray(), value.columns(), one)));
    }

    /** The rewritten layer of this original, from now on with the state of this one's optimizers, which at the start is 0. */
    Trajectory rewritten(Treatment as, ConventionRewrite rewrite) {
        return new Trajectory(descent, as, rewrite::rescaling, rewrite.layer(), (name, value) -> {
            Optimizer before = Objects.requireNonNull(trained.optimizers().get(name), name);
            Factors factors = Factors.of(descent, as, rewrite.rescaling(name));
            return Optional.of(descent.resume(before, value.toArray(), value.columns(), factors));
        });
    }

    void step(Examples batch) {
        try (Parameters gradients = trained.buffers();
                MoePass pass = trained.layer().forward(batch.tokens());
                Matrix output = pass.output();
                Matrix dOutput = batch.lossGradient(output, 1)) {
            pass.backward(dOutput, trained.learned(), gradients).close(); // the buffers stay open
            closest = Math.min(closest, closest((TopKPass) pass.routerPass()));
            double clip = clipping(gradients);
            clipped += clip < 1 ? 1 : 0;
            trained.step(
                    gradients,
                    clip,
                    name -> descent.rate()
                            * Factors.of(descent, treatment, rescaling.apply(name))
                                    .rate());
        }
    }

    private double clipping(Parameters gradients) {
        return switch (treatment) {
            case CLIPPED -> CLIPPING.factor(gradients);
            case CLIPPED_BACK -> CLIPPING.factor(gradients, this::factor);
            default -> 1;
        };
    }

    /** Smallest distance between the logits of a selected and an unselected expert of a token. */
    private static double closest(TopKPass pass) {
        int experts = pass.routing().experts();
        double[] logits = pass.logits();
        double gap = Double.POSITIVE_INFINITY;
        for (int end = experts; end <= logits.length; end += experts) {
            Arrays.sort(logits, end - experts, end);
            gap = Math.min(gap, logits[end - pass.topK()] - logits[end - pass.topK() - 1]);
        }
        return gap;
    }

    /** What a parameter was multiplied by. */
    double factor(String name) {
        return rescaling.apply(name).factor();
    }

    MoeLayer layer() {
        return trained.layer();
    }

    Treatment treatment() {
        return treatment;
    }

    /** In all steps so far. */
    double closest() {
        return closest;
    }

    /** Steps so far that were clipped. */
    int clipped() {
        return clipped;
    }

    @Override
    public void close() {
        trained.close();
    }
}
