package org.moe4j.bench.peers;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.bench.peers.SampleLayer.Part;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** The layer on one of our backends. */
final class OwnLayer implements Contender {
    private final Backend backend;
    private final MoeLayer layer;
    private final SampleLayer sample;
    private final Pass pass;

    private OwnLayer(Backend backend, MoeLayer layer, SampleLayer sample, Pass pass) {
        this.backend = backend;
        this.layer = layer;
        this.sample = sample;
        this.pass = pass;
    }

    static OwnLayer of(SampleLayer sample, Pass pass, Backend backend) {
        LayerSize size = sample.size();
        try (Matrix router = backend.matrix(size.experts(), size.hiddenSize(), sample.router())) {
            MoeLayer layer = MoeLayer.of(
                    TopKRouter.of(RouterConfig.topK(size.experts(), size.topK()), router), experts(sample, backend));
            return new OwnLayer(backend, layer, sample, pass);
        }
    }

    private static SwiGluExperts experts(SampleLayer sample, Backend backend) {
        int d = sample.size().hiddenSize();
        int f = sample.size().intermediateSize();
        List<SwiGluWeights> experts = new ArrayList<>();
        try {
            for (int e = 0; e < sample.size().experts(); e++) {
                experts.add(new SwiGluWeights(
                        backend.matrix(f, d, sample.weights(Part.GATE, e)),
                        backend.matrix(f, d, sample.weights(Part.UP, e)),
                        backend.matrix(d, f, sample.weights(Part.DOWN, e))));
            }
            return SwiGluExperts.of(experts);
        } finally {
            experts.forEach(SwiGluWeights::close);
        }
    }

    @Override
    public Calls bind(float[] tokens, int count) {
        Matrix x = backend.matrix(count, layer.router().tokenWidth().orElseThrow(), tokens);
        return switch (pass) {
            case FORWARD -> new Applied(x, backend.buffer(count, x.columns()));
            case FORWARD_AND_BACKWARD ->
                new Trained(layer, x, backend.matrix(count, x.columns(), sample.outputGradient(count)));
        };
    }

    @Override
    public void close() {
        layer.close();
    }

    static float[] values(Matrix matrix) {
        float[] values = new float[matrix.rows() * matrix.columns()];
        matrix.readRows(0, matrix.rows(), values);
        return values;
    }

    private final class Applied implements Calls {
        private final Matrix tokens;
        private final Matrix output;

        Applied(Matrix tokens, Matrix output) {
            this.tokens = tokens;
            this.output = output;
        }

        @Override
        public void call() {
            layer.applyInto(tokens, output);
        }

        @Override
        public float[] result() {
            return values(output);
        }

        @Override
        public void close() {
            tokens.close();
            output.close();
        }
    }
}
