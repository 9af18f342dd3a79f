package org.moe4j.core.layer;

import java.util.Optional;
import java.util.function.Function;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.DispatchPlan.CombineGradients;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertsPass;

/**
 * One forward run of a {@link RoutedBranch}; L is D without latent projections.
 *
 * @param plan who goes where, and with what weight
 * @param place of the routing's weights
 * @param latent handles of the pass
 * @param projected (T×L)
 * @param expert output (N×L)
 * @param sum (T×L) combined
 * @param output (T×D)
 */
record RoutedPass(
        DispatchPlan plan,
        WeightPlace place,
        Optional<LatentProjections> latent,
        Matrix projected,
        ExpertsPass expert,
        Matrix sum,
        Matrix output)
        implements AutoCloseable {

    /**
     * Gradient of the tokens (T×D), through the experts and through the router.
     *
     * @param tokens (T×D), as given forward
     * @param dOutput (T×D)
     * @param sink for the gradients of the parameters
     * @param router from gradients of the routing weights to the gradient of the router's input (T×D)
     */
    Matrix backward(Matrix tokens, Matrix dOutput, GradientSink sink, Function<double[], Matrix> router) {
        try (Matrix dSum = latent.map(p -> p.outOfBackward(dOutput)).orElseGet(dOutput::share)) {
            Matrix served = place == WeightPlace.INPUT
                    ? weightedInputs(tokens, dOutput, dSum, sink, router)
                    : weightedOutputs(tokens, dOutput, dSum, sink, router);
            return plan.addPassed(served, dOutput);
        }
    }

    private Matrix weightedOutputs(
            Matrix tokens, Matrix dOutput, Matrix dSum, GradientSink sink, Function<double[], Matrix> router) {
        CombineGradients d = plan.combineBackward(expert.output(), dSum);
        try (Matrix dRows = d.expertOutputs();
                // the router before the experts: what cannot work is found before the expensive part
                Matrix dRouter = router.apply(withPassed(d.weights(), tokens, dOutput));
                Matrix dInputs = sink.experts(expert, dRows);
                Matrix dProjected = plan.dispatchBackward(dInputs);
                Matrix dTokens = projection(tokens, dProjected, dOutput, sink)) {
            return tokens.backend().add(dTokens, dRouter);
        }
    }

    /** With x̃ = w·x: {@code dw = ⟨dx̃, x⟩} and {@code dx = w·dx̃}. */
    private Matrix weightedInputs(
            Matrix tokens, Matrix dOutput, Matrix dSum, GradientSink sink, Function<double[], Matrix> router) {
        Backend backend = tokens.backend();
        try (Matrix dRows = plan.dispatch(dSum);
                Matrix dInputs = sink.experts(expert, dRows);
                Matrix dWeighted = plan.dispatchBackward(dInputs);
                Matrix dRouter = router.apply(inputWeights(tokens, dOutput, dWeighted));
                Matrix dProjected =
                        backend.scaleRows(dWeighted, RoutedBranch.weights(plan.admission(), 0, tokens.rows()));
                Matrix dTokens = projection(tokens, dProjected, dOutput, sink)) {
            return backend.add(dTokens, dRouter);
        }
    }

    private double[] inputWeights(Matrix tokens, Matrix dOutput, Matrix dWeighted) {
        Routing routing = plan.admission().routing();
        double[] ofTokens = dWeighted.backend().rowDots(dWeighted, projected);
        double[] slots = new double[routing.slots()];
        for (int t = 0; t < ofTokens.length; t++) {
            if (routing.count(t) > 0) {
                slots[routing.slot(t, 0)] = ofTokens[t];
            }
        }
        return withPassed(plan.admission().backward(slots), tokens, dOutput);
    }

    /** What tokens that pass through with their weights add to the gradients of these. */
    private double[] withPassed(double[] dWeights, Matrix tokens, Matrix dOutput) {
        plan.addPassedWeights(dWeights, tokens, dOutput);
        return dWeights;
    }

    /** Back through the latent projections, where there are such. */
    private Matrix projection(Matrix tokens, Matrix dProjected, Matrix dOutput, GradientSink sink) {
        if (latent.isEmpty()) {
            return dProjected.share();
        }
        sink.product("latent.down", dProjected, tokens);
        sink.product("latent.up", dOutput, sum);
        return latent.get().intoBackward(dProjected);
    }

    @Override
    public void close() {
        latent.ifPresent(LatentProjections::close);
        projected.close();
        expert.close();
        sum.close();
        output.close();
    }
}
