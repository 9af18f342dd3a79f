package org.moe4j.router.loss;

import java.util.Optional;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;

/** What a loss reads of the routing of one layer. */
public interface RoutedTokens {
    /**
     * Where the tokens went: what was really chosen, with bias and groups, before capacity.
     *
     * @return T tokens, E experts
     */
    Routing routing();

    /**
     * Experts per token, as the router was made; of a routing whose tokens have different numbers of experts it need not be the
     * largest of them.
     *
     * @return K
     */
    default int topK() {
        return routing().topK();
    }

    /**
     * Which rows count and where sequences end.
     *
     * @return the context of the run
     */
    RoutingContext context();

    /**
     * The logits that scores are made of, with noise where the router adds any.
     *
     * @return T·E numbers, token after token; a copy
     */
    double[] logits();

    /**
     * The logits before noise.
     *
     * @return T·E numbers, token after token; a copy
     */
    default double[] cleanLogits() {
        return logits();
    }

    /**
     * The standard deviations of the noise.
     *
     * @return T·E numbers above 0, token after token; empty when this run had no noise
     */
    default Optional<double[]> noiseDeviations() {
        return Optional.empty();
    }

    /**
     * The scores of all experts.
     *
     * @return T·E numbers, token after token; a copy
     */
    double[] scores();

    /**
     * From gradients of the scores to gradients of the logits.
     *
     * @param dScores T·E numbers, token after token
     * @return T·E numbers
     */
    double[] logitGradients(double[] dScores);

    /**
     * From gradients of the weights to gradients of the logits.
     *
     * @param dWeights one number per slot of the routing
     * @return T·E numbers
     */
    double[] logitGradientsOfWeights(double[] dWeights);
}
