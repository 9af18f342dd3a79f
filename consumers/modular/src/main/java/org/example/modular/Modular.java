package org.example.modular;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** A layer in a named module, on the backends that the arguments name. */
public final class Modular {
    private Modular() {}

    public static void main(String[] args) {
        Preset preset = Preset.named("olmoe-1b-7b").scaledTo(32, 64);
        for (String name : args) {
            Backend backend = Backends.named(name, Backends.Precision.FLOAT32);
            try (MoeLayer layer = MoeLayer.of(
                            TopKRouter.random(RouterConfig.from(preset), 32, backend, 1L),
                            SwiGluExperts.random(ExpertShape.routed(preset), backend, 2L));
                    Matrix tokens = Initializer.normal(1).draw(backend, 5, 32, 3L);
                    Matrix output = layer.apply(tokens)) {
                System.out.println(name + ": " + layer.getClass().getModule() + " gave " + output.rows() + " rows in "
                        + Modular.class.getModule());
            }
        }
    }
}
