package org.moe4j.bench.peers;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtLoggingLevel;
import java.util.List;

/** ONNX Runtime's operator {@code com.microsoft.MoE} on the CPU, between a product for the router and nothing. */
public final class OnnxPeer implements Peer {
    /** A layer small enough to be tried in every order. */
    private static final LayerSize SMALL = new LayerSize(32, 16, 4, 2);

    private static final int TOKENS = 3;

    private static final List<OnnxOrder> ORDERS = List.of(
            new OnnxOrder(OnnxOrder.IN_TURN, true),
            new OnnxOrder(OnnxOrder.IN_TURN, false),
            new OnnxOrder(OnnxOrder.IN_BLOCKS, true),
            new OnnxOrder(OnnxOrder.IN_BLOCKS, false));

    private final OrtEnvironment environment =
            OrtEnvironment.getEnvironment(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL, "moe");

    /** For the service loader. */
    public OnnxPeer() {}

    @Override
    public String name() {
        return "onnxruntime";
    }

    @Override
    public String library() {
        return "ONNX Runtime " + environment.getVersion();
    }

    @Override
    public Contender open(SampleLayer layer, Pass pass, int threads) throws Exception {
        if (pass != Pass.FORWARD) {
            throw new PeersRun.Unfit("expected gradients but its package for inference has none");
        }
        return new OnnxLayer(environment, layer, order(threads), threads);
    }

    /** The order in which a small layer gives what the definition gives. */
    OnnxOrder order(int threads) throws PeersRun.Unfit {
        SampleLayer small = new SampleLayer(SMALL, 1);
        float[] tokens = small.tokens(TOKENS);
        StringBuilder tried = new StringBuilder();
        for (OnnxOrder order : ORDERS) {
            try (OnnxLayer layer = new OnnxLayer(environment, small, order, threads);
                    Contender.Calls calls = layer.bind(tokens, TOKENS)) {
                calls.call();
                float[] result = calls.result();
                for (int token = 0; token < TOKENS; token++) {
                    float[] one = new float[SMALL.hiddenSize()];
                    System.arraycopy(result, token * one.length, one, 0, one.length);
                    float[] definition = Agreement.definition(small, tokens, token);
                    Agreement.require(order.toString(), "plain loops", one, definition, Agreement.tolerance(SMALL));
                }
                return order;
            } catch (Exception e) {
                tried.append("; ").append(e.getMessage());
            }
        }
        throw new PeersRun.Unfit("expected an order of gate and up rows with the layer's result but was none" + tried);
    }
}
