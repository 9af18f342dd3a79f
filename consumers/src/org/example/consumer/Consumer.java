package org.example.consumer;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A user's program: a small layer, forward and backward, on the backends that its arguments name. {@code exchange} passes a matrix to ND4J and
 * back; {@code without-nd4j} and {@code mixed-nd4j} expect that the backend of that name says what it lacks.
 */
public final class Consumer {
    private Consumer() {}

    public static void main(String[] args) {
        double[] expected = layer("reference");
        for (String arg : args) {
            switch (arg) {
                case "exchange" -> exchange();
                case "without-nd4j", "mixed-nd4j" -> refused(arg);
                default -> compare(arg, expected, layer(arg));
            }
        }
    }

    private static double[] layer(String name) {
        Preset preset = Preset.named("olmo-study").scaledTo(32, 64);
        Backend backend = Backends.named(name, Backends.Precision.FLOAT32);
        try (MoeLayer layer = MoeLayer.of(
                                TopKRouter.random(RouterConfig.from(preset), 32, backend, 1L),
                                SwiGluExperts.random(ExpertShape.routed(preset), backend, 2L))
                        .withShared(SharedBranch.of(
                                SwiGluExperts.random(ExpertShape.shared(preset).get(0), backend, 3L),
                                ScaledMerge.olmo(ActiveWidths.of(preset))));
                Matrix tokens = Initializer.normal(1).draw(backend, 5, 32, 4L);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                var gradients = pass.backward(output)) {
            return new double[] {output.get(0, 0), output.get(4, 31), gradients.parameters().get("router.weight").get(0, 0)};
        }
    }

    private static void compare(String name, double[] expected, double[] actual) {
        for (int i = 0; i < expected.length; i++) {
            if (!(Math.abs(actual[i] - expected[i]) <= 1e-5 * Math.max(1, Math.abs(expected[i])))) {
                throw new AssertionError(name + ": expected " + expected[i] + " but was " + actual[i]);
            }
        }
        System.out.println(name + ": the layer is that of the reference");
        if (name.equals("nd4j")) {
            System.out.println(name + ": " + Nd4jBackend.blasReport());
        }
    }

    private static void exchange() {
        Nd4jBackend backend = Nd4jBackend.float32();
        try (Matrix matrix = Initializer.normal(1).draw(backend, 2, 3, 5L);
                INDArray array = backend.unwrap(matrix)) {
            if (array.getDouble(1, 2) != matrix.get(1, 2)) {
                throw new AssertionError("exchange: " + array + " is not " + matrix.get(1, 2) + " in its last place");
            }
        }
        System.out.println("exchange: a matrix went to ND4J");
    }

    private static void refused(String how) {
        try {
            Backends.named("nd4j", Backends.Precision.FLOAT32);
        } catch (IllegalStateException e) {
            if (!e.getMessage().startsWith("nd4j: ") || !e.getMessage().contains("org.bytedeco:openblas of one release")) {
                throw new AssertionError(how + ": expected what is missing but was " + e.getMessage(), e);
            }
            System.out.println(how + ": " + e.getMessage());
            return;
        }
        throw new AssertionError(how + ": expected an error");
    }
}
