package org.moe4j.router;

import java.util.Arrays;
import java.util.Optional;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.router.loss.RoutedTokens;

/** Given noisy logits, logits before noise and deviations, each of which a difference can move by itself. */
@SuppressWarnings("ArrayRecordComponent") // numbers of a test
record NoisyTokens(int experts, int topK, RoutingContext context, double[] noisy, double[] clean, double[] deviation)
        implements RoutedTokens {
    @Override
    public Routing routing() {
        return RouterConfig.topK(experts, topK).routing(noisy);
    }

    @Override
    public double[] logits() {
        return noisy.clone();
    }

    @Override
    public double[] cleanLogits() {
        return clean.clone();
    }

    @Override
    public Optional<double[]> noiseDeviations() {
        return Optional.of(deviation.clone());
    }

    @Override
    public double[] scores() {
        throw new AssertionError("no variation loss reads scores");
    }

    @Override
    public double[] logitGradients(double[] dScores) {
        throw new AssertionError("no variation loss reads scores");
    }

    @Override
    public double[] logitGradientsOfWeights(double[] dWeights) {
        throw new AssertionError("no load reads weights");
    }

    /** Indices of a token's noisy logits, best first. */
    int[] order(int token) {
        return TokenwiseRouting.best(Arrays.copyOfRange(noisy, token * experts, (token + 1) * experts), experts);
    }
}
