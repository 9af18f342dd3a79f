package org.moe4j.bench.study;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.moe4j.bench.study.BalancingResult.Point;
import org.moe4j.bench.study.BalancingResult.Run;
import org.moe4j.bench.support.Adam;
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

    static final Adam.Decay DECAY = new Adam.Decay(0.9, 0.99, 1e-8);

    /** Of the load-balancing loss. */
    static final double LOSS_COEFFICIENT = 0.1;

    /** Of the sign rule. */
    static final double BIAS_RATE = 0.02;

    private final BalancingMethod method;
    private final Map<String, Adam> learned = new LinkedHashMap<>();
    private final List<Point> points = new ArrayList<>();
    private MoeLayer layer;

    /** Takes over the layer: it is closed with the student. */
    Student(BalancingMethod method, MoeLayer start) {
        this.method = method;
        layer = start;
        try (Parameters parameters = start.parameters()) {
            for (String name : parameters.names()) {
                if (!name.startsWith("shared.")) {
                    learned.put(name, new Adam(parameters.get(name).toArray(), DECAY));
                }
            }
        }
        switch (method) {
            case LOSS ->
                replaceRouter(
                        router().withLosses(LoadBalancingLoss.olmoCore(LOSS_COEFFICIENT / BalancingRun.MICRO_BATCHES)));
            case BIAS ->
                replaceRouter(router().withSelectionBias(
                                SelectionBias.zeros(layer.router().experts())));
            case NONE -> {}
        }
    }

    private TopKRouter router() {
        return (TopKRouter) layer.router();
    }

    private void replaceRouter(TopKRouter next) {
        TopKRouter old = router();
        layer = layer.withRouter(next);
        old.close();
    }

    /**
     * One step on the mean loss of all micro-batches, whose gradients are added up in one set of buffers.
     *
     * @param batches as many examples each
     * @param pace factor of all rates
     */
    void step(List<Examples> batches, double pace) {
        int[] counts = new int[layer.router().experts()];
        try (Parameters gradients = buffers()) {
            for (Examples batch : batches) {
                int[] ofBatch = addGradients(batch, 1.0 / batches.size(), gradients);
                for (int e = 0; e < counts.length; e++) {
                    counts[e] += ofBatch[e];
                }
            }
            learn(gradients, pace * RATE);
        }
        if (method == BalancingMethod.BIAS) {
            SelectionBias bias = router().selectionBias().orElseThrow();
            replaceRouter(router().withSelectionBias(bias.updated(counts, pace * BIAS_RATE)));
        }
    }

    /** A buffer of zeros for each learned parameter. */
    private Parameters buffers() {
        Map<String, Matrix> buffers = new LinkedHashMap<>();
        try (Parameters parameters = layer.parameters()) {
            for (String name : learned.keySet()) {
                Matrix value = parameters.get(name);
                buffers.put(name, value.backend().buffer(value.rows(), value.columns()));
            }
        }
        return Parameters.of(buffers);
    }

    /** Forward and backward; gives the tokens that each expert got. */
    private int[] addGradients(Examples batch, double share, Parameters into) {
        try (MoePass pass = layer.forward(batch.tokens());
                Matrix output = pass.output();
                Matrix dOutput = batch.lossGradient(output, share)) {
            pass.backward(dOutput, learned.keySet(), into).close(); // the buffers stay open
            return pass.routing().tokensPerExpert();
        }
    }

    private void learn(Parameters gradients, double rate) {
        try (MoeLayer old = layer;
                Parameters parameters = old.parameters();
                Parameters next = parameters.map((name, value) -> next(name, value, gradients, rate))) {
            layer = old.withParameters(next);
        }
    }

    private Matrix next(String name, Matrix value, Parameters gradients, double rate) {
        Adam adam = learned.get(name);
        if (adam == null) {
            return value.share();
        }
        adam.step(gradients.get(name).toArray(), rate);
        return value.backend().matrix(value.rows(), value.columns(), adam.values());
    }

    /** Notes load and loss on examples it does not learn from. */
    void measure(int step, Examples heldOut) {
        try (MoePass pass = layer.forward(heldOut.tokens());
                Matrix output = pass.output()) {
            Load load = Load.of(pass.routing().tokensPerExpert());
            points.add(new Point(step, load.maxOverMean(), load.variation(), heldOut.loss(output)));
        }
    }

    /** As they are now; the handles belong to the caller. */
    Parameters parameters() {
        return layer.parameters();
    }

    /** What was measured so far. */
    Run run(int seed, double teacherLoss) {
        return new Run(method, seed, teacherLoss, points);
    }

    @Override
    public void close() {
        layer.close();
    }
}
