package org.moe4j.examples.dl4j;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * SameDiff below and above, MoE4J between. At each border an array is handed over, and its gradient is handed back: the head's graph
 * gives the gradient of its input, the layer's pass that of its tokens, and the trunk's graph takes it as a factor of a sum, whose
 * gradients are those of the whole.
 */
public final class SameDiffBorder {
    private static final Nd4jBackend BACKEND = Nd4jBackend.float64();
    private static final int IN = 3;
    private static final int HIDDEN = 8;
    private static final int TOKENS = 32;
    private static final double RATE = 0.4;

    private final SameDiff trunk = SameDiff.create();
    private final SameDiff head = SameDiff.create();
    private MoeLayer layer = MoeLayer.of(
            TopKRouter.random(RouterConfig.topK(4, 2), HIDDEN, BACKEND, 1),
            SwiGluExperts.random(new ExpertShape(4, HIDDEN, 12), BACKEND, 2));

    private SameDiffBorder() {
        SDVariable x = trunk.placeHolder("x", DataType.DOUBLE, -1, IN);
        SDVariable below = trunk.var("below", Nd4j.randn(DataType.DOUBLE, IN, HIDDEN));
        SDVariable out = trunk.math().tanh("out", x.mmul(below));
        SDVariable given = trunk.placeHolder("dOut", DataType.DOUBLE, -1, HIDDEN);
        out.mul(given).sum("handed").markAsLoss();

        SDVariable in = head.placeHolder("in", DataType.DOUBLE, -1, HIDDEN);
        SDVariable target = head.placeHolder("target", DataType.DOUBLE, -1, 1);
        SDVariable above = head.var("above", Nd4j.randn(DataType.DOUBLE, HIDDEN, 1).muli(0.5));
        SDVariable error = in.mmul(above).sub(target);
        head.math().square(error).mean("loss").markAsLoss();
    }

    /** The gradients of one step, as arrays of their own. */
    private record Step(double loss, Map<String, INDArray> graphs, Gradients layer) {}

    private Step step(INDArray x, INDArray target) {
        INDArray hidden = trunk.output(Map.of("x", x, "dOut", Nd4j.zeros(DataType.DOUBLE, TOKENS, HIDDEN)), "out")
                .get("out");
        try (Matrix tokens = BACKEND.wrap(hidden.dup('c'));
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output()) {
            Map<String, INDArray> into = Map.of("in", BACKEND.unwrap(output).dup(), "target", target);
            double loss = head.output(into, "loss").get("loss").getDouble();
            Map<String, INDArray> graphs = new HashMap<>(head.calculateGradients(into, "in", "above"));
            try (Matrix dOutput = BACKEND.wrap(graphs.get("in").dup('c'))) {
                Gradients gradients = pass.backward(dOutput);
                INDArray dTokens = BACKEND.unwrap(gradients.input()).dup();
                graphs.putAll(trunk.calculateGradients(Map.of("x", x, "dOut", dTokens), "below"));
                return new Step(loss, graphs, gradients);
            }
        }
    }

    private void descend(Step step) {
        move(trunk, "below", step.graphs());
        move(head, "above", step.graphs());
        try (MoeLayer old = layer;
                Gradients gradients = step.layer();
                Parameters now = old.parameters();
                Parameters next = now.map((name, value) -> BACKEND.linearCombination(
                        1, value, -RATE, gradients.parameters().get(name)))) {
            layer = old.withParameters(next);
        }
    }

    private static void move(SameDiff graph, String name, Map<String, INDArray> gradients) {
        graph.getVariable(name).getArr().subi(gradients.get(name).mul(RATE));
    }

    /** Central differences of the loss of the whole for some weights of the trunk, below both borders. */
    private void check(INDArray x, INDArray target) {
        Step step = step(x, target);
        INDArray below = trunk.getVariable("below").getArr();
        double largest = 0;
        for (int i = 0; i < IN * HIDDEN; i++) {
            double was = below.getDouble(i);
            below.putScalar(i, was + 1e-5);
            double above = loss(x, target);
            below.putScalar(i, was - 1e-5);
            double under = loss(x, target);
            below.putScalar(i, was);
            double difference = (above - under) / 2e-5;
            double gradient = step.graphs().get("below").getDouble(i);
            largest = Math.max(largest, Math.abs(difference - gradient) / Math.max(1, Math.abs(gradient)));
        }
        step.layer().close();
        System.out.println("gradients below both borders differ from differences by " + largest);
        if (largest > 1e-6) {
            throw new IllegalStateException("the gradient at a border is wrong");
        }
    }

    private double loss(INDArray x, INDArray target) {
        Step step = step(x, target);
        step.layer().close();
        return step.loss();
    }

    public static void main(String[] args) {
        Nd4j.getRandom().setSeed(5);
        Random random = new Random(6);
        double[][] points = new double[TOKENS][IN];
        double[][] targets = new double[TOKENS][1];
        for (int t = 0; t < TOKENS; t++) {
            points[t] = random.doubles(IN, -1, 1).toArray();
            targets[t][0] = Math.abs(points[t][0]) + points[t][1] * points[t][2];
        }
        INDArray x = Nd4j.createFromArray(points);
        INDArray target = Nd4j.createFromArray(targets);
        SameDiffBorder whole = new SameDiffBorder();
        whole.check(x, target);
        double before = whole.loss(x, target);
        for (int i = 0; i < 100; i++) {
            whole.descend(whole.step(x, target));
        }
        double after = whole.loss(x, target);
        whole.layer.close();
        System.out.println("loss " + before + " -> " + after);
        if (!(after < before / 4)) {
            throw new IllegalStateException("the whole has not learned");
        }
    }
}
