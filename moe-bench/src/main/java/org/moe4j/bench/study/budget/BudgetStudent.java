package org.moe4j.bench.study.budget;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.moe4j.bench.optimizer.AdamW;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.TrainedLayer;
import org.moe4j.bench.study.budget.BudgetResult.Point;
import org.moe4j.bench.study.budget.BudgetResult.Run;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Parameters;

/** A layer of one variant that is trained, all of it. */
final class BudgetStudent implements AutoCloseable {
    /** Of AdamW. */
    static final double RATE = 0.01;

    static final AdamW.Settings ADAMW = new AdamW.Settings(0.9, 0.99, 1e-8, 0.01);

    private final BudgetVariant variant;
    private final TrainedLayer trained;
    private final List<Point> points = new ArrayList<>();

    /** Takes over the layer: it is closed with the student. */
    BudgetStudent(BudgetVariant variant, MoeLayer start) {
        this.variant = variant;
        trained = new TrainedLayer(start, (name, value) -> Optional.of(new AdamW(value.toArray(), ADAMW)));
    }

    /**
     * One step on the mean squared error and the router's load-balancing loss.
     *
     * @param batch examples
     * @param pace factor of the rate
     */
    void step(Examples batch, double pace) {
        try (Parameters gradients = trained.buffers();
                MoePass pass = trained.layer().forward(batch.tokens());
                Matrix output = pass.output();
                Matrix dOutput = batch.lossGradient(output, 1)) {
            pass.backward(dOutput, trained.learned(), gradients).close(); // the buffers stay open
            trained.step(gradients, name -> pace * RATE);
        }
    }

    /** Notes loss and specialization on examples it does not learn from. */
    void measure(int step, HeldOut heldOut) {
        try (MoePass pass = trained.layer().forward(heldOut.examples().tokens());
                Matrix output = pass.output()) {
            Specialization of = Specialization.of(pass.routing(), heldOut.groups(), BudgetLayers.GROUPS);
            points.add(new Point(step, heldOut.examples().loss(output), of.betweenGroups(), of.withinGroups()));
        }
    }

    /** What was measured so far, and what there is to measure once. */
    Run run(BudgetTeacher teacher, int seed, HeldOut heldOut) {
        MoeLayer layer = trained.layer();
        try (MoePass pass = layer.forward(heldOut.examples().tokens())) {
            pass.output().close();
            Rows rows = Rows.of(layer, pass);
            return new Run(
                    teacher,
                    variant,
                    seed,
                    heldOut.teacherLoss(),
                    points,
                    rows,
                    Budget.counted(layer, rows),
                    Interventions.on(layer, heldOut.examples()));
        }
    }

    /** As they are now; the handles belong to the caller. */
    Parameters parameters() {
        return trained.layer().parameters();
    }

    @Override
    public void close() {
        trained.close();
    }
}
