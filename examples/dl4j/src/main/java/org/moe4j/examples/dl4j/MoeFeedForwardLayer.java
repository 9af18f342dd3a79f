package org.moe4j.examples.dl4j;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.BaseLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * A DL4J layer whose work an {@link MoeLayer} does. DL4J changes its parameters in place between iterations; so each forward run makes
 * a layer on views of them, without a copy, which lives until its backward.
 */
final class MoeFeedForwardLayer extends BaseLayer<MoeFeedForward> {
    private transient Run running;

    MoeFeedForwardLayer(NeuralNetConfiguration conf, DataType type) {
        super(conf, type);
    }

    static Nd4jBackend backend(DataType type) {
        return type == DataType.DOUBLE ? Nd4jBackend.float64() : Nd4jBackend.float32();
    }

    /** A layer of this moment's parameters, and its pass. */
    private record Run(MoeLayer layer, Matrix tokens, MoePass pass) implements AutoCloseable {
        @Override
        public void close() {
            pass.close();
            tokens.close();
            layer.close();
        }
    }

    /** Row-major numbers outside of DL4J's workspaces, which it uses again while a pass still reads them. */
    private static INDArray copy(INDArray array) {
        try (MemoryWorkspace none = Nd4j.getWorkspaceManager().scopeOutOfWorkspaces()) {
            return array.dup('c');
        }
    }

    private Matrix weights(String key) {
        return backend(dataType).wrap(getParam(key));
    }

    private MoeLayer layer() {
        MoeFeedForward conf = layerConf();
        List<SwiGluWeights> experts = new ArrayList<>();
        try (Matrix router = weights("router.weight")) {
            for (int e = 0; e < conf.getExperts(); e++) {
                String name = "experts." + e;
                experts.add(new SwiGluWeights(
                        weights(name + ".gate"), weights(name + ".up"), weights(name + ".down")));
            }
            return MoeLayer.of(
                    TopKRouter.of(RouterConfig.topK(conf.getExperts(), conf.getTopK()), router), SwiGluExperts.of(experts));
        } finally {
            experts.forEach(SwiGluWeights::close); // the layer has handles of its own
        }
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaces) {
        assertInputSet(false);
        drop();
        Nd4jBackend backend = backend(dataType);
        MoeLayer layer = layer();
        Matrix tokens = backend.wrap(copy(input));
        if (!training) {
            try (layer;
                    tokens;
                    Matrix output = layer.apply(tokens)) {
                return workspaces.dup(ArrayType.ACTIVATIONS, backend.unwrap(output));
            }
        }
        running = new Run(layer, tokens, layer.forward(tokens));
        try (Matrix output = running.pass().output()) {
            return workspaces.dup(ArrayType.ACTIVATIONS, backend.unwrap(output));
        }
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaces) {
        Nd4jBackend backend = backend(dataType);
        try (Matrix dOutput = backend.wrap(copy(epsilon));
                Gradients gradients = running.pass().backward(dOutput)) {
            Gradient result = new DefaultGradient(gradientsFlattened);
            gradientViews.forEach((key, view) -> {
                view.assign(backend.unwrap(gradients.parameters().get(key)));
                result.setGradientFor(key, view);
            });
            return new Pair<>(result, workspaces.dup(ArrayType.ACTIVATION_GRAD, backend.unwrap(gradients.input())));
        } finally {
            drop();
        }
    }

    private void drop() {
        if (running != null) {
            running.close();
            running = null;
        }
    }

    @Override
    public void clear() {
        drop();
        super.clear();
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }
}
