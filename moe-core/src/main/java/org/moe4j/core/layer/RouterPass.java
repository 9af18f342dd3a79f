package org.moe4j.core.layer;

import java.util.Set;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

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

    /**
     * The same, adding the gradients of some parameters into buffers; all other parameters are frozen. The default makes
     * all gradients and adds the wanted ones. Names and buffers are the caller's to check before.
     *
     * @param dWeights one per slot of the routing
     * @param dLogits T·E further gradients of the logits; length 0 for none
     * @param wanted names of parameters, as in {@link Router#parameters}
     * @param into a {@link org.moe4j.core.backend.Backend#buffer} of the parameter's shape under each wanted name
     * @return gradient of the input (T×D), the caller's
     */
    default Matrix backward(double[] dWeights, double[] dLogits, Set<String> wanted, Parameters into) {
        return backward(dWeights, dLogits).addInto(wanted, into);
    }
}
