package org.moe4j.bench.study.balancing;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.moe4j.bench.optimizer.AdamW;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.TrainedLayer;
import org.moe4j.bench.study.balancing.BalancingResult.Point;
import org.moe4j.bench.study.balancing.BalancingResult.Run;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.loss.LoadBalancingLoss;

/** A layer that is trained: everything but its shared expert, which is frozen. */
final class Student implements AutoCloseable {
    /** Of Adam. */
    static final double RATE = 0.02;

    static final AdamW.Settings ADAM = new AdamW.Settings(0.9, 0.99, 1e-8, 0);

    /** Of the load-balancing loss. */
    static final double LOSS_COEFFICIENT = 0.1;

    /** Of the sign rule. */
    static final double BIAS_RATE = 0.02;

    private final BalancingMethod method;
    private final TrainedLayer trained;
    private final List<Point> points = new ArrayList<>();

    /** Takes over the layer: it is closed with the student. */
    Student(BalancingMethod method, MoeLayer start) {
        this.method = method;
        trained = new TrainedLayer(
                start,
                (name, value) ->
                        name.startsWith("shared.") ? Optional.empty() : Optional.of(new AdamW(value.toArray(), ADAM)));
        switch (method) {
            case LOSS ->
                trained.replaceRouter(
                        router().withLosses(LoadBalancingLoss.olmoCore(LOSS_COEFFICIENT / BalancingRun.MICRO_BATCHES)));
            case BIAS -> trained.replaceRouter(router().withSelectionBias(SelectionBias.zeros(router().experts())));
            case NONE -> {}
        }
    }

    private TopKRouter router() {
        return (TopKRouter) trained.layer().router();
    }

    /**
     * One step on the mean loss of all micro-batches, whose gradients are added up in one set of buffers.
     *
     * @param batches as many examples each
     * @param pace factor of all rates
     */
    void step(List<Examples> batches, double pace) {
        int[] counts = new int[router().experts()];
        try (Parameters gradients = trained.buffers()) {
            for (Examples batch : batches) {
                int[] ofBatch = addGradients(batch, 1.0 / batches.size(), gradients);
                for (int e = 0; e < counts.length; e++) {
                    counts[e] += ofBatch[e];
                }
            }
            trained.step(gradients, name -> pace * RATE);
        }
        if (method == BalancingMethod.BIAS) {
            SelectionBias bias = router().selectionBias().orElseThrow();
            trained.replaceRouter(router().withSelectionBias(bias.updated(counts, pace * BIAS_RATE)));
        }
    }

    /** Forward and backward; gives the tokens that each expert got. */
    private int[] addGradients(Examples batch, double share, Parameters into) {
        try (MoePass pass = trained.layer().forward(batch.tokens());
                Matrix output = pass.output();
                Matrix dOutput = batch.lossGradient(output, share)) {
            pass.backward(dOutput, trained.learned(), into).close(); // the buffers stay open
            return pass.routing().tokensPerExpert();
        }
    }

    /** Notes load and loss on examples it does not learn from. */
    void measure(int step, Examples heldOut) {
        try (MoePass pass = trained.layer().forward(heldOut.tokens());
                Matrix output = pass.output()) {
            Load load = Load.of(pass.routing().tokensPerExpert());
            points.add(new Point(step, load.maxOverMean(), load.variation(), heldOut.loss(output)));
        }
    }

    /** As they are now; the handles belong to the caller. */
    Parameters parameters() {
        return trained.layer().parameters();
    }

    /** What was measured so far. */
    Run run(int seed, double teacherLoss) {
        return new Run(method, seed, teacherLoss, points);
    }

    @Override
    public void close() {
        trained.close();
    }
}
