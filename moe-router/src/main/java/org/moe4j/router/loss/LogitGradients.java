package org.moe4j.router.loss;

/** Gradients of the logits of one layer, to which losses add theirs. */
public final class LogitGradients {
    private final double[] logits;

    private LogitGradients(double[] logits) {
        this.logits = logits;
    }

    /**
     * No gradients yet.
     *
     * @param layer whose logits
     * @return zeros
     */
    public static LogitGradients zeros(RoutedTokens layer) {
        return new LogitGradients(
                new double[layer.routing().tokens() * layer.routing().experts()]);
    }

    /**
     * Gradients of the logits that scores are made of.
     *
     * @return T·E numbers, token after token; not a copy: losses add to them
     */
    public double[] logits() {
        return logits;
    }
}
