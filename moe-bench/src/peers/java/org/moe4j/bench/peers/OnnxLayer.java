package org.moe4j.bench.peers;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxTensorLike;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.moe4j.bench.peers.SampleLayer.Part;

/** A session with the layer's weights. */
final class OnnxLayer implements Contender {
    private static final long BYTES_OF_BUFFER = Integer.MAX_VALUE;

    private final OrtEnvironment environment;
    private final LayerSize size;
    private final List<AutoCloseable> open = new ArrayList<>();
    private OrtSession session;

    OnnxLayer(OrtEnvironment environment, SampleLayer layer, OnnxOrder order, int threads)
            throws OrtException, IOException {
        this.environment = environment;
        this.size = layer.size();
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            options.setIntraOpNumThreads(threads);
            options.setInterOpNumThreads(1);
            options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR);
            session = session(layer, order, options);
        } catch (OrtException | IOException e) {
            closeAll();
            throw e;
        }
    }

    private OrtSession session(SampleLayer layer, OnnxOrder order, OrtSession.SessionOptions options)
            throws OrtException, IOException {
        if (innerNumbers() * Float.BYTES <= BYTES_OF_BUFFER) {
            options.addExternalInitializers(weights(layer, order));
            return environment.createSession(OnnxModel.bytes(size, order), options);
        }
        OnnxFiles files = OnnxFiles.write(layer, order);
        open.add(files);
        return environment.createSession(files.model(), options);
    }

    private long innerNumbers() {
        return 2L * size.experts() * size.intermediateSize() * size.hiddenSize();
    }

    private Map<String, OnnxTensorLike> weights(SampleLayer layer, OnnxOrder order) throws OrtException {
        int d = size.hiddenSize();
        int f = size.intermediateSize();
        int experts = size.experts();
        FloatBuffer inner = buffer(innerNumbers());
        FloatBuffer down = buffer((long) experts * d * f);
        for (int e = 0; e < experts; e++) {
            inner.put(2 * e * f * d, order.joined(layer, e));
            down.put(e * d * f, layer.weights(Part.DOWN, e));
        }
        FloatBuffer router = buffer((long) d * experts);
        router.put(0, OnnxOrder.turned(layer.router(), d));
        Map<String, OnnxTensorLike> weights = new HashMap<>();
        weights.put(OnnxModel.ROUTER, tensor(router, d, experts));
        weights.put(OnnxModel.INNER, tensor(inner, experts, 2L * f, d));
        weights.put(OnnxModel.DOWN, tensor(down, experts, d, f));
        return weights;
    }

    private OnnxTensor tensor(FloatBuffer values, long... shape) throws OrtException {
        OnnxTensor tensor = OnnxTensor.createTensor(environment, values, shape);
        open.add(tensor);
        return tensor;
    }

    private static FloatBuffer buffer(long count) {
        return ByteBuffer.allocateDirect(Math.toIntExact(count * Float.BYTES))
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
    }

    @Override
    public Calls bind(float[] tokens, int count) throws OrtException {
        return new Run(tokens, count);
    }

    @Override
    public void close() {
        open.add(0, session);
        closeAll();
    }

    private void closeAll() {
        for (AutoCloseable each : open) {
            try {
                each.close();
            } catch (Exception e) {
                throw new IllegalStateException("onnxruntime: expected to close but did not", e);
            }
        }
    }

    private final class Run implements Calls {
        private final FloatBuffer result;
        private final OnnxTensor input;
        private final OnnxTensor output;

        Run(float[] tokens, int count) throws OrtException {
            int d = size.hiddenSize();
            FloatBuffer values = buffer(tokens.length);
            values.put(0, tokens);
            input = OnnxTensor.createTensor(environment, values, new long[] {count, d});
            result = buffer(tokens.length);
            output = OnnxTensor.createTensor(environment, result, new long[] {count, d});
        }

        /** The output is written where it is wanted, as ours. */
        @Override
        public void call() throws OrtException {
            session.run(Map.of(OnnxModel.TOKENS, input), Set.of(), Map.of(OnnxModel.OUTPUT, output))
                    .close();
        }

        @Override
        public float[] result() {
            float[] values = new float[result.capacity()];
            result.get(0, values);
            return values;
        }

        @Override
        public void close() {
            input.close();
            output.close();
        }
    }
}
