package org.moe4j.router.analysis.intervention;

import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.parameter.Gradients;

/** A routing that was changed in order to measure, not to train. */
record UntrainedPass(Routing routing) implements RouterPass {
    @Override
    public double auxiliaryLoss() {
        return 0;
    }

    @Override
    public Gradients backward(double[] dWeights, double[] dLogits) {
        throw new UnsupportedOperationException("backward: expected a router that is trained but was one with a mask");
    }
}
