package org.moe4j.core.layer;

import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.parameter.Gradients;

/** Port: what one routing computed, and its backward. */
public interface RouterPass {
    /**
     * Where the tokens go.
     *
     * @return T tokens
     */
    Routing routing();

    /**
     * Sum of the router's losses, each already multiplied by its coefficient.
     *
     * @return 0 without losses
     */
    double auxiliaryLoss();

    /**
     * Gradients of the loss whose gradient in the routing weights is given, plus those of {@link #auxiliaryLoss()}.
     *
     * @param dWeights one per slot of the routing
     * @param dLogits T·E further gradients of the logits, from losses over several layers; length 0 for none
     * @return input (T×D) and parameters
     */
    Gradients backward(double[] dWeights, double[] dLogits);
}
