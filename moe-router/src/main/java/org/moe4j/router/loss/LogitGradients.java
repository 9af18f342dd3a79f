package org.moe4j.router.loss;

/**
 * Gradients of the logits of one layer, to which losses add theirs. With noise, {@code logits = cleanLogits + ξ ⊙ deviations}, a loss may read
 * all three, and each has a gradient of its own; whoever made the noise adds them up by the chain rule.
 */
public final class LogitGradients {
    private final double[] logits;
    private final double[] cleanLogits;
    private final double[] deviations;

    private LogitGradients(double[] logits, double[] cleanLogits, double[] deviations) {
        this.logits = logits;
        this.cleanLogits = cleanLogits;
        this.deviations = deviations;
    }

    /**
     * No gradients yet.
     *
     * @param layer whose logits
     * @return zeros
     */
    public static LogitGradients zeros(RoutedTokens layer) {
        int numbers = layer.routing().tokens() * layer.routing().experts();
        double[] logits = new double[numbers];
        return layer.noiseDeviations().isPresent()
                ? new LogitGradients(logits, new double[numbers], new double[numbers])
                : new LogitGradients(logits, logits, new double[0]);
    }

    /**
     * Gradients of the logits that scores are made of, clean logits and deviations held fixed.
     *
     * @return T·E numbers, token after token; not a copy: losses add to them
     */
    public double[] logits() {
        return logits;
    }

    /**
     * Gradients of the logits before noise, the noisy ones held fixed.
     *
     * @return T·E numbers, token after token, not a copy; without noise the very array of {@link #logits}
     */
    public double[] cleanLogits() {
        return cleanLogits;
    }

    /**
     * Gradients of the noise's standard deviations, the noisy logits held fixed.
     *
     * @return T·E numbers, token after token, not a copy; none without noise
     */
    public double[] deviations() {
        return deviations;
    }
}
