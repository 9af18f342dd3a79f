package org.moe4j.bench.study.mergescale;

import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** Everything random of one seed: router, routed experts, shared expert, tokens and the gradient of the output. */
record SeededLayer(
        TopKRouter router,
        SwiGluExperts routed,
        SwiGluExperts shared,
        ActiveWidths widths,
        Matrix tokens,
        Matrix dOutput)
        implements AutoCloseable {
    /** Of every weight, the router's included, at {@link #FULL_HIDDEN_SIZE}. */
    static final double STANDARD_DEVIATION = 0.01;

    static final int FULL_HIDDEN_SIZE = 2560;

    /** In standard deviations. */
    static final double CUT = 3;

    /** Another width gets another deviation, so that the variance of a projection stays: a tenth gives √10 times as much. */
    static double standardDeviation(int hiddenSize) {
        return STANDARD_DEVIATION * Math.sqrt((double) FULL_HIDDEN_SIZE / hiddenSize);
    }

    /**
     * Draws a layer.
     *
     * @param preset sizes and router
     * @param experts how many routed experts really exist
     * @param backend makes the matrices
     * @param tokens T
     * @param seed of everything
     */
    static SeededLayer draw(Preset preset, int experts, Backend backend, int tokens, long seed) {
        ExpertShape routedShape = ExpertShape.routed(preset);
        List<ExpertShape> sharedShapes = ExpertShape.shared(preset);
        if (sharedShapes.size() != 1) {
            throw new IllegalArgumentException(
                    preset + ": expected one shared expert but was a preset with " + sharedShapes.size());
        }
        RouterConfig config = RouterConfig.from(preset);
        int d = ExpertShape.tokenWidth(preset);
        Initializer weights = new Initializer(standardDeviation(d), CUT);
        Initializer normal = Initializer.normal(1);
        SplittableRandom seeds = new SplittableRandom(seed);
        ExpertShape existing = new ExpertShape(
                experts,
                routedShape.hiddenSize(),
                routedShape.intermediateSize(),
                routedShape.activation(),
                routedShape.biases());
        return new SeededLayer(
                TopKRouter.random(config, d, backend, seeds.nextLong(), weights),
                SwiGluExperts.random(existing, backend, seeds.nextLong(), weights, weights),
                SwiGluExperts.random(sharedShapes.get(0), backend, seeds.nextLong(), weights, weights),
                ActiveWidths.of(preset),
                normal.draw(backend, tokens, d, seeds.nextLong()),
                normal.draw(backend, tokens, d, seeds.nextLong()));
    }

    /** The layer with another router and merge; it shares the banks, so it is not to be closed. */
    MoeLayer with(Router changed, OutputMerge merge) {
        return MoeLayer.of(changed, routed).withShared(SharedBranch.of(shared, merge));
    }

    @Override
    public void close() {
        router.close();
        routed.close();
        shared.close();
        tokens.close();
        dOutput.close();
    }
}
