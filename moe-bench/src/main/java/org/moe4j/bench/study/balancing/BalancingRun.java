package org.moe4j.bench.study.balancing;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.balancing.BalancingResult.Run;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;

/** One seed of the balancing study: equal students, balanced in different ways, on the same stream of examples. */
final class BalancingRun implements AutoCloseable {
    /** A step's tokens come in micro-batches, whose gradients are added up. */
    static final int MICRO_BATCHES = 2;

    static final int MICRO_BATCH = 256;

    private final BalancingLayers layers;
    private final SplittableRandom seeds;
    private final Examples heldOut;
    private final List<Student> students = new ArrayList<>();

    private BalancingRun(BalancingSettings settings, Backend backend, int seed) {
        layers = new BalancingLayers(backend, seed);
        seeds = new SplittableRandom(~(long) seed);
        heldOut = Examples.draw(layers.teacher(), BalancingLayers.NOISE, settings.heldOut(), seeds.nextLong());
        for (BalancingMethod method : BalancingMethod.values()) {
            students.add(new Student(method, layers.student()));
        }
    }

    static List<Run> run(BalancingSettings settings, Backend backend, int seed, Runnable afterMeasurement) {
        try (BalancingRun run = new BalancingRun(settings, backend, seed)) {
            run.measure(0);
            afterMeasurement.run();
            for (int step = 1; step <= settings.steps(); step++) {
                run.step(pace((step - 1) / (double) settings.steps()));
                if (step % settings.every() == 0) {
                    run.measure(step);
                    afterMeasurement.run();
                }
            }
            return run.result(seed);
        }
    }

    /** All rates stay for the first half, then fall along half a cosine to 0. */
    static double pace(double progress) {
        return progress < 0.5 ? 1 : (1 + StrictMath.cos(2 * StrictMath.PI * (progress - 0.5))) / 2;
    }

    private void step(double pace) {
        List<Examples> batches = new ArrayList<>();
        try {
            for (int i = 0; i < MICRO_BATCHES; i++) {
                batches.add(Examples.draw(layers.teacher(), BalancingLayers.NOISE, MICRO_BATCH, seeds.nextLong()));
            }
            students.forEach(student -> student.step(batches, pace));
        } finally {
            batches.forEach(Examples::close);
        }
    }

    private void measure(int step) {
        students.forEach(student -> student.measure(step, heldOut));
    }

    private List<Run> result(int seed) {
        try (Matrix output = layers.teacher().apply(heldOut.tokens())) {
            double teacherLoss = heldOut.loss(output);
            return students.stream()
                    .map(student -> student.run(seed, teacherLoss))
                    .toList();
        }
    }

    @Override
    public void close() {
        students.forEach(Student::close);
        heldOut.close();
        layers.close();
    }
}
