package org.moe4j.examples.dl4j;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.ParamInitializer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The parameters as DL4J has them: row-major views into the one array of the network, on which its updaters work, under the names that
 * {@code MoeLayer.parameters()} gives them.
 */
final class MoeParameters implements ParamInitializer {
    static final MoeParameters INSTANCE = new MoeParameters();

    private MoeParameters() {}

    private static Map<String, long[]> shapes(Layer layer) {
        MoeFeedForward conf = (MoeFeedForward) layer;
        long hidden = conf.getNIn();
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("router.weight", new long[] {conf.getExperts(), hidden});
        for (int e = 0; e < conf.getExperts(); e++) {
            shapes.put("experts." + e + ".gate", new long[] {conf.getWidth(), hidden});
            shapes.put("experts." + e + ".up", new long[] {conf.getWidth(), hidden});
            shapes.put("experts." + e + ".down", new long[] {hidden, conf.getWidth()});
        }
        return shapes;
    }

    @Override
    public long numParams(NeuralNetConfiguration conf) {
        return numParams(conf.getLayer());
    }

    @Override
    public long numParams(Layer layer) {
        return shapes(layer).values().stream()
                .mapToLong(shape -> shape[0] * shape[1])
                .sum();
    }

    @Override
    public List<String> paramKeys(Layer layer) {
        return List.copyOf(shapes(layer).keySet());
    }

    @Override
    public List<String> weightKeys(Layer layer) {
        return paramKeys(layer);
    }

    @Override
    public List<String> biasKeys(Layer layer) {
        return List.of();
    }

    @Override
    public boolean isWeightParam(Layer layer, String key) {
        return true;
    }

    @Override
    public boolean isBiasParam(Layer layer, String key) {
        return false;
    }

    @Override
    public Map<String, INDArray> init(NeuralNetConfiguration conf, INDArray paramsView, boolean initialize) {
        Map<String, INDArray> views = views(conf.getLayer(), paramsView);
        views.forEach((key, view) -> {
            conf.addVariable(key);
            if (initialize) {
                draw(view, conf.getSeed() + key.hashCode());
            }
        });
        return views;
    }

    @Override
    public Map<String, INDArray> getGradientsFromFlattened(NeuralNetConfiguration conf, INDArray gradientView) {
        return views(conf.getLayer(), gradientView);
    }

    private static Map<String, INDArray> views(Layer layer, INDArray flat) {
        INDArray line = flat.reshape(flat.length());
        Map<String, INDArray> views = new LinkedHashMap<>();
        long from = 0;
        for (Map.Entry<String, long[]> each : shapes(layer).entrySet()) {
            long[] shape = each.getValue();
            long to = from + shape[0] * shape[1];
            views.put(each.getKey(), line.get(NDArrayIndex.interval(from, to)).reshape('c', shape));
            from = to;
        }
        return views;
    }

    /** Normal numbers, 1/√(columns) wide. */
    private static void draw(INDArray view, long seed) {
        Nd4jBackend backend = MoeFeedForwardLayer.backend(view.dataType());
        double deviation = 1 / Math.sqrt(view.columns());
        try (Matrix drawn = Initializer.normal(deviation).draw(backend, view.rows(), view.columns(), seed)) {
            view.assign(backend.unwrap(drawn));
        }
    }
}
