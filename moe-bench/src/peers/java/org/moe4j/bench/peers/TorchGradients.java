package org.moe4j.bench.peers;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import java.util.Map;

/** Forward and backward by PyTorch's autograd, which adds the gradients of all weights and tokens to those that are there. */
final class TorchGradients implements Contender.Calls {
    private static final int MATRICES = 3;

    private final Block block;
    private final ParameterStore parameters;
    private final NDManager manager;
    private final NDList weights;
    private final NDList arguments = new NDList();
    private final NDArray tokens;
    private final NDArray dOutput;
    private NDArray output;

    TorchGradients(Block block, NDList weights, NDManager parent, float[] tokens, float[] dOutput) {
        this.block = block;
        this.weights = weights;
        manager = parent.newSubManager();
        parameters = new ParameterStore(manager, false);
        long width = weights.get(0).getShape().get(1);
        Shape shape = new Shape(tokens.length / width, width);
        this.tokens = manager.create(tokens, shape);
        this.tokens.setRequiresGradient(true);
        this.dOutput = manager.create(dOutput, shape);
        output = this.dOutput.duplicate();
        arguments.add(this.tokens);
        arguments.addAll(weights);
        weights.forEach(TorchGradients::clear);
    }

    /** What earlier calls, on other tokens, have left. */
    private static void clear(NDArray weight) {
        if (weight.hasGradient()) {
            try (NDArray gradient = weight.getGradient()) {
                gradient.subi(gradient);
            }
        }
    }

    /** The gradient of the output goes in as a factor, as only scalars have a backward here: T·D multiply-adds. */
    @Override
    public void call() {
        output.close();
        try (GradientCollector collector = Engine.getEngine(TorchLayer.ENGINE).newGradientCollector();
                NDManager scratch = manager.newSubManager()) {
            output = block.forward(parameters, arguments, true).singletonOrThrow();
            output.attach(manager);
            NDArray product = output.mul(dOutput);
            product.attach(scratch);
            NDArray loss = product.sum();
            loss.attach(scratch);
            collector.backward(loss);
        }
    }

    @Override
    public float[] result() {
        return output.toFloatArray();
    }

    @Override
    public Map<Contender.Gradient, float[]> gradients(int expert) {
        int first = 1 + MATRICES * expert;
        return Map.of(
                Contender.Gradient.TOKENS, gradient(tokens),
                Contender.Gradient.ROUTER, gradient(weights.get(0)),
                Contender.Gradient.GATE, gradient(weights.get(first)),
                Contender.Gradient.UP, gradient(weights.get(first + 1)),
                Contender.Gradient.DOWN, gradient(weights.get(first + 2)));
    }

    private static float[] gradient(NDArray array) {
        try (NDArray gradient = array.getGradient()) {
            return gradient.toFloatArray();
        }
    }

    @Override
    public void close() {
        output.close();
        manager.close();
    }
}
