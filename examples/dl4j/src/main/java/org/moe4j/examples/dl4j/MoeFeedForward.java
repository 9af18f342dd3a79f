package org.moe4j.examples.dl4j;

import java.util.Collection;
import java.util.Map;
import org.deeplearning4j.nn.api.ParamInitializer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.memory.LayerMemoryReport;
import org.deeplearning4j.nn.conf.memory.MemoryReport;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a DL4J network's configuration says of an MoE layer: E experts of width F, K of them for a token. It changes no width (nIn =
 * nOut = D), has no activation behind it, and is written to JSON and read back like DL4J's own layers.
 */
public final class MoeFeedForward extends FeedForwardLayer {
    private int experts;
    private int topK;
    private int width;

    /** For JSON. */
    public MoeFeedForward() {}

    private MoeFeedForward(Builder builder) {
        super(builder);
        experts = builder.experts;
        topK = builder.topK;
        width = builder.width;
    }

    public int getExperts() {
        return experts;
    }

    public void setExperts(int experts) {
        this.experts = experts;
    }

    public int getTopK() {
        return topK;
    }

    public void setTopK(int topK) {
        this.topK = topK;
    }

    public int getWidth() {
        return width;
    }

    public void setWidth(int width) {
        this.width = width;
    }

    @Override
    public org.deeplearning4j.nn.api.Layer instantiate(
            NeuralNetConfiguration conf,
            Collection<TrainingListener> listeners,
            int index,
            INDArray paramsView,
            boolean initialize,
            DataType type) {
        MoeFeedForwardLayer layer = new MoeFeedForwardLayer(conf, type);
        layer.setListeners(listeners);
        layer.setIndex(index);
        layer.setParamsViewArray(paramsView);
        Map<String, INDArray> table = initializer().init(conf, paramsView, initialize);
        layer.setParamTable(table);
        layer.setConf(conf);
        return layer;
    }

    @Override
    public ParamInitializer initializer() {
        return MoeParameters.INSTANCE;
    }

    @Override
    public LayerMemoryReport getMemoryReport(InputType input) {
        return new LayerMemoryReport.Builder(layerName, MoeFeedForward.class, input, input)
                .standardMemory(initializer().numParams(this), 0)
                .workingMemory(0, 0, MemoryReport.CACHE_MODE_ALL_ZEROS, MemoryReport.CACHE_MODE_ALL_ZEROS)
                .build();
    }

    public static final class Builder extends FeedForwardLayer.Builder<Builder> {
        private int experts = 8;
        private int topK = 2;
        private int width = 16;

        public Builder experts(int count) {
            experts = count;
            return this;
        }

        public Builder topK(int count) {
            topK = count;
            return this;
        }

        public Builder width(int units) {
            width = units;
            return this;
        }

        @Override
        @SuppressWarnings("unchecked") // as DL4J's own builders
        public MoeFeedForward build() {
            return new MoeFeedForward(this);
        }
    }
}
