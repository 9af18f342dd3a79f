package org.moe4j.bench.study.collapse;

import java.util.Set;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/** One backward of both forms of the students of {@link TrainingRun}. */
final class GradientRun {
    private static final long SEED = 75;

    private GradientRun() {}

    static Comparison run(Backend backend) {
        try (TrainingLayers layers = new TrainingLayers(TrainingCase.SGD, backend);
                MoeLayer parts = layers.parts();
                MoeLayer wide = layers.joined(parts);
                Matrix tokens = normal(backend, SEED);
                Matrix dOutput = normal(backend, SEED + 1);
                Gradients ofParts = gradients(parts, tokens, dOutput);
                Gradients ofWide = gradients(wide, tokens, dOutput);
                Parameters joined = layers.joined(ofParts.parameters(), true)) {
            Set<String> names = joined.requireNames(ofWide.parameters().names()).names();
            double difference = 0;
            double norm = 0;
            for (String name : names) {
                double[] a = joined.get(name).toArray();
                double[] b = ofWide.parameters().get(name).toArray();
                difference = Math.max(difference, Distance.difference(a, b));
                norm = Math.max(norm, Distance.norm(b));
            }
            return new Comparison(
                    "gradient",
                    "gradients of all parameters",
                    true,
                    backend.name(),
                    backend.unitRoundoff() > 0x1p-53,
                    difference,
                    norm);
        }
    }

    private static Matrix normal(Backend backend, long seed) {
        return Initializer.normal(1).draw(backend, TrainingRun.BATCH, TrainingLayers.HIDDEN, seed);
    }

    private static Gradients gradients(MoeLayer layer, Matrix tokens, Matrix dOutput) {
        try (MoePass pass = layer.forward(tokens)) {
            pass.output().close();
            return pass.backward(dOutput);
        }
    }
}
