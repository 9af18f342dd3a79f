package org.moe4j.bench.peers;

/**
 * A model of two nodes: a product that gives the router's logits, and ONNX Runtime's operator {@code com.microsoft.MoE}. Field numbers are
 * those of onnx.proto.
 *
 * @see <a href="https://github.com/onnx/onnx/blob/main/onnx/onnx.proto">onnx.proto</a>
 * @see <a href="https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md">the operator</a>
 */
final class OnnxModel {
    static final String TOKENS = "tokens";
    static final String OUTPUT = "output";
    static final String ROUTER = "router";
    static final String INNER = "inner";
    static final String DOWN = "down";

    private static final int IR_VERSION = 10;
    private static final int OPSET = 21;
    private static final int FLOAT = 1;

    private static final int ATTRIBUTE_FLOAT = 1;
    private static final int ATTRIBUTE_INT = 2;
    private static final int ATTRIBUTE_STRING = 3;

    private OnnxModel() {}

    /** The model, whose weights are given to the session as initializers of the names above. */
    static byte[] bytes(LayerSize size, OnnxOrder order) {
        int d = size.hiddenSize();
        int f = size.intermediateSize();
        int e = size.experts();
        Protobuf graph = new Protobuf()
                .message(1, product())
                .message(1, experts(size, order))
                .text(2, "layer")
                .message(5, initializer(ROUTER, d, e))
                .message(5, initializer(INNER, e, 2L * f, d))
                .message(5, initializer(DOWN, e, d, f))
                .message(11, value(TOKENS, d))
                .message(12, value(OUTPUT, d));
        return new Protobuf()
                .number(1, IR_VERSION)
                .message(7, graph)
                .message(8, new Protobuf().text(1, "").number(2, OPSET))
                .message(8, new Protobuf().text(1, "com.microsoft").number(2, 1))
                .toBytes();
    }

    private static Protobuf product() {
        return new Protobuf()
                .text(1, TOKENS)
                .text(1, ROUTER)
                .text(2, "logits")
                .text(3, "router")
                .text(4, "MatMul");
    }

    private static Protobuf experts(LayerSize size, OnnxOrder order) {
        return new Protobuf()
                .text(1, TOKENS)
                .text(1, "logits")
                .text(1, INNER)
                .text(1, "")
                .text(1, DOWN)
                .text(2, OUTPUT)
                .text(3, "experts")
                .text(4, "MoE")
                .message(5, attribute("k", size.topK()))
                .message(5, attribute("activation_type", "swiglu"))
                .message(5, attribute("activation_alpha", 1f))
                .message(5, attribute("activation_beta", 0f))
                .message(5, attribute("swiglu_fusion", order.fusion()))
                .message(5, attribute("normalize_routing_weights", 0))
                .text(7, "com.microsoft");
    }

    private static Protobuf attribute(String name, int value) {
        return new Protobuf().text(1, name).number(3, value).number(20, ATTRIBUTE_INT);
    }

    private static Protobuf attribute(String name, float value) {
        return new Protobuf().text(1, name).real(2, value).number(20, ATTRIBUTE_FLOAT);
    }

    private static Protobuf attribute(String name, String value) {
        return new Protobuf().text(1, name).text(4, value).number(20, ATTRIBUTE_STRING);
    }

    /** Says that the numbers are elsewhere: the session is given them in memory. */
    private static Protobuf initializer(String name, long... dimensions) {
        Protobuf tensor = new Protobuf();
        long bytes = Float.BYTES;
        for (long dimension : dimensions) {
            tensor.number(1, dimension);
            bytes *= dimension;
        }
        return tensor.number(2, FLOAT)
                .text(8, name)
                .message(13, new Protobuf().text(1, "location").text(2, name))
                .message(13, new Protobuf().text(1, "offset").text(2, "0"))
                .message(13, new Protobuf().text(1, "length").text(2, Long.toString(bytes)))
                .number(14, 1);
    }

    private static Protobuf value(String name, int columns) {
        Protobuf shape = new Protobuf()
                .message(1, new Protobuf().text(2, "T"))
                .message(1, new Protobuf().number(1, columns));
        Protobuf type = new Protobuf().message(1, new Protobuf().number(1, FLOAT).message(2, shape));
        return new Protobuf().text(1, name).message(2, type);
    }
}
