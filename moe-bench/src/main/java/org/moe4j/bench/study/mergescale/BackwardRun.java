package org.moe4j.bench.study.mergescale;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.moe4j.bench.study.Norms;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.Router;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.ScaledMerge;

/**
 * The backward half of the study for one seed: scale of the gradients under one random gradient of the output.
 *
 * <p>All routed experts exist. The matched dense reference of a token is the sum, with coefficients of one, of <em>its</em>
 * K experts and the shared one.
 */
final class BackwardRun {
    private BackwardRun() {}

    static Map<Measure, Double> measure(Preset preset, Backend backend, int tokens, long seed) {
        int experts = ExpertShape.routed(preset).count();
        Map<Measure, Double> measured = new HashMap<>();
        try (SeededLayer layer = SeededLayer.draw(preset, experts, backend, tokens, seed)) {
            List<ScaledMerge> conventions = Quantity.conventions(layer.widths());
            Router detached = FrozenRouter.detached(layer.router());
            Scales dense = scales(layer, FrozenRouter.unitCoefficients(layer.router()), ScaledMerge.sum());
            List<Scales> fixed = conventions.stream()
                    .map(convention -> scales(layer, detached, convention))
                    .toList();
            Scales olmo = fixed.get(0);
            for (int i = 0; i < conventions.size(); i++) {
                ScaledMerge convention = conventions.get(i);
                Scales through = scales(layer, layer.router(), convention);
                measured.put(
                        Measure.of(convention, Quantity.INPUT_GRAD_RMS_FIXED),
                        fixed.get(i).input() / dense.input());
                measured.put(Measure.of(convention, Quantity.INPUT_GRAD_RMS_ROUTER), through.input() / dense.input());
                measured.put(
                        Measure.of(convention, Quantity.ROUTED_DOWN_GRAD_RMS),
                        through.routedDown() / olmo.routedDown());
                measured.put(
                        Measure.of(convention, Quantity.SHARED_DOWN_GRAD_RMS),
                        through.sharedDown() / olmo.sharedDown());
            }
            measured.put(Measure.of(Quantity.DENSE_ROUTED_DOWN_GRAD), dense.routedDown() / olmo.routedDown());
            measured.put(Measure.of(Quantity.DENSE_SHARED_DOWN_GRAD), dense.sharedDown() / olmo.sharedDown());
        }
        return measured;
    }

    /** RMS over all entries of the gradients of the tokens, of all routed and of the shared down projections. */
    private record Scales(double input, double routedDown, double sharedDown) {}

    private static Scales scales(SeededLayer layer, Router router, ScaledMerge merge) {
        try (MoePass pass = layer.with(router, merge).forward(layer.tokens());
                Matrix output = pass.output();
                Gradients gradients = pass.backward(layer.dOutput())) {
            Parameters parameters = gradients.parameters();
            ExpertShape shape = layer.routed().shape();
            double squares = 0;
            for (int e = 0; e < shape.count(); e++) {
                squares += Norms.squares(parameters.get("experts." + e + ".down"));
            }
            double entries = (double) shape.count() * output.columns() * shape.intermediateSize();
            return new Scales(
                    Norms.rms(gradients.input()),
                    Math.sqrt(squares / entries),
                    Norms.rms(parameters.get("shared.0.down")));
        }
    }
}
