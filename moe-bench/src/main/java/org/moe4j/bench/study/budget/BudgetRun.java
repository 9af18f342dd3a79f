package org.moe4j.bench.study.budget;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.budget.BudgetResult.Run;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;

/** One teacher of one seed: a student of each variant, on the same stream of examples. */
final class BudgetRun implements AutoCloseable {
    /** Examples of a step. */
    static final int BATCH = 256;

    private final MoeLayer teacher;
    private final SplittableRandom seeds;
    private final HeldOut heldOut;
    private final List<BudgetStudent> students = new ArrayList<>();

    private BudgetRun(BudgetSettings settings, Backend backend, BudgetTeacher kind, int seed) {
        SplittableRandom ofLayers = new SplittableRandom(seed);
        teacher = BudgetLayers.teacher(kind, backend, ofLayers.nextLong());
        seeds = new SplittableRandom(~(long) seed);
        heldOut = HeldOut.draw(teacher, settings.heldOut(), seeds.nextLong());
        long start = ofLayers.nextLong();
        for (BudgetVariant variant : BudgetVariant.values()) {
            students.add(new BudgetStudent(variant, BudgetLayers.student(variant, backend, start)));
        }
    }

    static List<Run> run(
            BudgetSettings settings, Backend backend, BudgetTeacher kind, int seed, Runnable afterMeasurement) {
        try (BudgetRun run = new BudgetRun(settings, backend, kind, seed)) {
            run.measure(0);
            afterMeasurement.run();
            for (int step = 1; step <= settings.steps(); step++) {
                run.step(pace((step - 1) / (double) settings.steps()));
                if (step % settings.every() == 0) {
                    run.measure(step);
                    afterMeasurement.run();
                }
            }
            return run.students.stream()
                    .map(student -> student.run(kind, seed, run.heldOut))
                    .toList();
        }
    }

    /** The rate stays for the first half, then falls along half a cosine to 0. */
    static double pace(double progress) {
        return progress < 0.5 ? 1 : (1 + StrictMath.cos(2 * StrictMath.PI * (progress - 0.5))) / 2;
    }

    private void step(double pace) {
        try (Examples batch = Examples.draw(teacher, BudgetLayers.NOISE, BATCH, seeds.nextLong())) {
            students.forEach(student -> student.step(batch, pace));
        }
    }

    private void measure(int step) {
        students.forEach(student -> student.measure(step, heldOut));
    }

    @Override
    public void close() {
        students.forEach(BudgetStudent::close);
        heldOut.close();
        teacher.close();
    }
}
