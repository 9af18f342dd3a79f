package org.moe4j.bench.peers;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.moe4j.bench.peers.SampleLayer.Part;

/** The script with the layer's weights in PyTorch's memory. */
final class TorchLayer implements Contender {
    static final String ENGINE = "PyTorch";
    private static final String LAYER = "layer";

    /** The brackets tell DJL to make one list of all arrays of this name. */
    private static final String WEIGHTS = "weights[]";

    private final Model model;
    private final Block block;
    private final ParameterStore parameters;
    private final NDList weights = new NDList();
    private final SampleLayer layer;
    private final Pass pass;

    TorchLayer(SampleLayer layer, Pass pass) throws Exception {
        this.layer = layer;
        this.pass = pass;
        model = Model.newInstance(LAYER, ENGINE);
        try {
            load(layer.size());
            block = model.getBlock();
            parameters = new ParameterStore(model.getNDManager(), false);
            fill();
        } catch (Exception e) {
            model.close();
            throw e;
        }
    }

    private void load(LayerSize size) throws Exception {
        Path folder = Files.createTempDirectory("moe-peers");
        Path file = folder.resolve(LAYER + ".pt");
        try {
            TorchScript.write(file, size);
            model.load(folder, LAYER);
        } finally {
            Files.deleteIfExists(file);
            delete(folder);
        }
    }

    private static void delete(Path folder) throws IOException {
        Files.deleteIfExists(folder);
    }

    private void fill() {
        NDManager manager = model.getNDManager();
        int d = layer.size().hiddenSize();
        int f = layer.size().intermediateSize();
        weights.add(manager.create(layer.router(), new Shape(layer.size().experts(), d)));
        for (int e = 0; e < layer.size().experts(); e++) {
            weights.add(expert(manager.create(layer.weights(Part.GATE, e), new Shape(f, d))));
            weights.add(expert(manager.create(layer.weights(Part.UP, e), new Shape(f, d))));
            weights.add(expert(manager.create(layer.weights(Part.DOWN, e), new Shape(d, f))));
        }
        weights.forEach(weight -> weight.setRequiresGradient(pass == Pass.FORWARD_AND_BACKWARD));
    }

    private static NDArray expert(NDArray matrix) {
        matrix.setName(WEIGHTS);
        return matrix;
    }

    @Override
    public Calls bind(float[] tokens, int count) {
        return switch (pass) {
            case FORWARD -> new Run(tokens, count);
            case FORWARD_AND_BACKWARD ->
                new TorchGradients(block, weights, model.getNDManager(), tokens, layer.outputGradient(count));
        };
    }

    @Override
    public void close() {
        model.close();
    }

    private final class Run implements Calls {
        private final NDManager manager = model.getNDManager().newSubManager();
        private final NDList arguments = new NDList();
        private NDArray output;

        Run(float[] tokens, int count) {
            NDArray x = manager.create(tokens, new Shape(count, tokens.length / count));
            arguments.add(x);
            arguments.addAll(weights);
            output = x.duplicate();
        }

        @Override
        public void call() {
            output.close();
            output = block.forward(parameters, arguments, false).singletonOrThrow();
        }

        @Override
        public float[] result() {
            return output.toFloatArray();
        }

        @Override
        public void close() {
            output.close();
            manager.close();
        }
    }
}
