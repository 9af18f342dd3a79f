package org.moe4j.examples;

import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Backends.Precision;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** The same layer and tokens on every backend that can run here: a seed gives the same numbers on each, and results agree to rounding. */
public final class CompareBackends {
    private static final int HIDDEN = 64;
    private static final int WIDTH = 48;

    private CompareBackends() {}

    public static void main(String[] args) {
        double[] reference = output(Backends.named("reference", Precision.FLOAT64));
        for (String name : List.of("vector", "nd4j")) {
            for (Precision precision : Precision.values()) {
                Backend backend;
                try {
                    backend = Backends.named(name, precision);
                } catch (IllegalStateException cannot) {
                    System.out.println(name + ": " + cannot.getMessage());
                    break;
                }
                double[] output = output(backend);
                double largest = 0;
                double difference = 0;
                for (int i = 0; i < output.length; i++) {
                    largest = Math.max(largest, Math.abs(reference[i]));
                    difference = Math.max(difference, Math.abs(output[i] - reference[i]));
                }
                double bound = precision == Precision.FLOAT64 ? 1e-12 : 4 * Math.sqrt(HIDDEN) * backend.unitRoundoff();
                System.out.printf(
                        "%s %s: differs from the definition by %.1e of the largest, at most %.1e%n",
                        name, precision, difference / largest, bound);
                if (difference > bound * largest) {
                    throw new IllegalStateException("the backends do not agree");
                }
            }
        }
    }

    private static double[] output(Backend backend) {
        try (MoeLayer layer = MoeLayer.of(
                        TopKRouter.random(RouterConfig.topK(8, 2), HIDDEN, backend, 1L),
                        SwiGluExperts.random(new ExpertShape(8, HIDDEN, WIDTH), backend, 2L));
                Matrix tokens = Initializer.normal(1).draw(backend, 33, HIDDEN, 3L);
                Matrix output = layer.apply(tokens)) {
            return output.toArray();
        }
    }
}
