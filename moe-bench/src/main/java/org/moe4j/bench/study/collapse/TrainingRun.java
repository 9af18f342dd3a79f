package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.moe4j.bench.optimizer.GradientClipping;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.TrainedLayer;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Parameters;

/** Both forms of one student, taught the same in one way, and how far their outputs come apart. */
final class TrainingRun implements AutoCloseable {
    static final int BATCH = 128;

    /** Standard deviation of what nobody can learn. */
    static final double NOISE = 0.1;

    /** Of the global norm. */
    static final double CLIPPED_AT = 0.02;

    private static final long SEED = 300;

    private final TrainingCase training;
    private final TrainingLayers layers;
    private final SplittableRandom seeds = new SplittableRandom(SEED);
    private final Examples heldOut;
    private final TrainedLayer parts;

    private TrainingRun(TrainingCase training, CollapseSettings settings, Backend backend) {
        this.training = training;
        layers = new TrainingLayers(training, backend);
        heldOut = Examples.draw(layers.teacher(), NOISE, settings.heldOut(), seeds.nextLong());
        parts = new TrainedLayer(layers.parts(), (name, start) -> {
            double[] values = start.toArray();
            Learner learner = training.learner();
            double decay = learner.decay() * slowing(name);
            return Optional.of(learner.make(values, start.columns(), decay, learner.nothing(values.length)));
        });
    }

    static Trajectory run(
            TrainingCase training, CollapseSettings settings, Backend backend, Runnable afterMeasurement) {
        try (TrainingRun run = new TrainingRun(training, settings, backend)) {
            double startLoss = run.loss(run.parts);
            int alone = training.joinedLate() ? settings.steps() / 2 : 0;
            for (int step = 1; step <= alone; step++) {
                run.step(List.of(run.parts));
            }
            try (TrainedLayer wide = run.joined()) {
                List<Trajectory.Point> points = new ArrayList<>();
                points.add(new Trajectory.Point(alone, run.deviation(wide)));
                for (int step = alone + 1; step <= settings.steps(); step++) {
                    run.step(List.of(run.parts, wide));
                    if (step % settings.every() == 0) {
                        points.add(new Trajectory.Point(step, run.deviation(wide)));
                    }
                }
                afterMeasurement.run();
                return new Trajectory(training, points, startLoss, run.loss(run.parts), run.loss(wide));
            }
        }
    }

    /** Down biases of the parts, where they are to move as one. */
    private int slowing(String name) {
        boolean ofPart = name.startsWith("shared.") && name.endsWith(".downBias");
        return ofPart ? training.slowing(TrainingLayers.WIDTHS.size()) : 1;
    }

    /** The wide form of the parts as they are now, with what their optimizers kept. */
    private TrainedLayer joined() {
        Learner learner = training.learner();
        Map<String, Learner.Kept> kept = training.takesState() ? joinedState() : Map.of();
        return new TrainedLayer(layers.joined(parts.layer()), (name, start) -> {
            double[] values = start.toArray();
            Learner.Kept state = kept.getOrDefault(name, learner.nothing(values.length));
            return Optional.of(learner.make(values, start.columns(), learner.decay(), state));
        });
    }

    private Map<String, Learner.Kept> joinedState() {
        Learner learner = training.learner();
        int steps = learner.kept(parts.optimizers().values().iterator().next()).steps();
        Map<String, List<double[]>> moments = new HashMap<>();
        for (int index = 0; index < learner.moments(); index++) {
            try (Parameters apart = moment(index);
                    Parameters together = layers.joined(apart, true)) {
                for (String name : together.names()) {
                    moments.computeIfAbsent(name, key -> new ArrayList<>())
                            .add(together.get(name).toArray());
                }
            }
        }
        Map<String, Learner.Kept> ofWide = new HashMap<>();
        moments.forEach((name, all) -> ofWide.put(name, new Learner.Kept(all, steps)));
        return ofWide;
    }

    /** One of the moments that the optimizers of the parts keep, as matrices of the parameters' shapes. */
    private Parameters moment(int index) {
        Map<String, Matrix> values = new LinkedHashMap<>();
        try (Parameters weights = parts.layer().parameters()) {
            parts.optimizers().forEach((name, optimizer) -> {
                Matrix like = weights.get(name);
                double[] moment = training.learner().kept(optimizer).moments().get(index);
                values.put(name, like.backend().matrix(like.rows(), like.columns(), moment));
            });
        }
        return Parameters.of(values);
    }

    /** The same fresh examples for every form. */
    private void step(List<TrainedLayer> forms) {
        try (Examples batch = Examples.draw(layers.teacher(), NOISE, BATCH, seeds.nextLong())) {
            for (TrainedLayer form : forms) {
                step(form, batch, form == parts);
            }
        }
    }

    private void step(TrainedLayer form, Examples batch, boolean ofParts) {
        try (Parameters gradients = form.buffers()) {
            try (MoePass pass = form.layer().forward(batch.tokens());
                    Matrix output = pass.output();
                    Matrix dOutput = batch.lossGradient(output, 1)) {
                pass.backward(dOutput, form.learned(), gradients).close(); // the buffers stay open
            }
            double factor = training.clipped() ? new GradientClipping(CLIPPED_AT).factor(gradients) : 1;
            form.step(gradients, factor, name -> training.learner().rate() / (ofParts ? slowing(name) : 1));
        }
    }

    private double loss(TrainedLayer form) {
        try (Matrix output = form.layer().apply(heldOut.tokens())) {
            return heldOut.loss(output);
        }
    }

    private double deviation(TrainedLayer wide) {
        try (Matrix expected = parts.layer().apply(heldOut.tokens());
                Matrix actual = wide.layer().apply(heldOut.tokens())) {
            double[] output = expected.toArray();
            return Distance.difference(output, actual.toArray()) / Distance.norm(output);
        }
    }

    @Override
    public void close() {
        parts.close();
        heldOut.close();
        layers.close();
    }
}
