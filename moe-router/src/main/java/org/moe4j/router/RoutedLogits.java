package org.moe4j.router;

import java.util.Arrays;
import java.util.Optional;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.router.loss.RoutedTokens;

/**
 * What a router's conventions make of logits, wherever these come from. Scores are computed again from the logits where they are
 * needed, with the same bits.
 */
final class RoutedLogits implements RoutedTokens {
    private final RouterConfig config;
    private final Optional<SelectionBias> selectionBias;
    private final LogitRows logits;
    private final Choice choice;
    private final RoutingContext context;

    RoutedLogits(
            RouterConfig config,
            Optional<SelectionBias> selectionBias,
            LogitRows logits,
            Choice choice,
            RoutingContext context) {
        this.config = config;
        this.selectionBias = selectionBias;
        this.logits = logits;
        this.choice = choice;
        this.context = context;
    }

    /** Chooses by given logits. */
    static RoutedLogits of(
            RouterConfig config, Optional<SelectionBias> selectionBias, LogitRows logits, RoutingContext context) {
        context.requireTokens(logits.tokens());
        Choice choice = Choice.of(config, selectionBias, logits, context);
        return new RoutedLogits(config, selectionBias, logits, choice, context);
    }

    @Override
    public Routing routing() {
        return choice.routing();
    }

    @Override
    public int topK() {
        return config.topK();
    }

    @Override
    public RoutingContext context() {
        return context;
    }

    @Override
    public double[] logits() {
        return logits.toArray();
    }

    @Override
    public double[] scores() {
        int experts = config.experts();
        double[] all = new double[logits.tokens() * experts];
        double[] row = new double[experts];
        double[] scores = new double[experts];
        for (int t = 0; t < logits.tokens(); t++) {
            logits.row(t, row);
            config.score().scores(row, 0, scores);
            System.arraycopy(scores, 0, all, t * experts, experts);
        }
        return all;
    }

    @Override
    public double[] logitGradients(double[] dScores) {
        int experts = config.experts();
        Require.count("dScores", dScores.length, (long) logits.tokens() * experts, "numbers (T x E)");
        double[] all = new double[dScores.length];
        double[] row = new double[experts];
        double[] scores = new double[experts];
        double[] dRow = new double[experts];
        double[] dLogits = new double[experts];
        for (int t = 0; t < logits.tokens(); t++) {
            logits.row(t, row);
            config.score().scores(row, 0, scores);
            System.arraycopy(dScores, t * experts, dRow, 0, experts);
            Arrays.fill(dLogits, 0);
            config.score().logitGradients(row, 0, scores, dRow, dLogits);
            System.arraycopy(dLogits, 0, all, t * experts, experts);
        }
        return all;
    }

    @Override
    public double[] logitGradientsOfWeights(double[] dWeights) {
        Require.count("dWeights", dWeights.length, routing().slots(), "numbers (T x K)");
        double[] dLogits = new double[logits.tokens() * config.experts()];
        ChosenWeights.addLogitGradients(config, logits, choice.weighed(), choice.weighedGradients(dWeights), dLogits);
        return dLogits;
    }

    /** What the experts were ranked by: T·E numbers. */
    double[] choiceScores() {
        int experts = config.experts();
        double[] all = new double[logits.tokens() * experts];
        TokenChoice ranked = new TokenChoice(config, selectionBias);
        for (int t = 0; t < logits.tokens(); t++) {
            System.arraycopy(ranked.choiceScores(logits, t), 0, all, t * experts, experts);
        }
        return all;
    }

    /** See {@link TopKPass#quantileBias}. */
    SelectionBias quantileBias() {
        return QuantileBias.of(config, selectionBias, logits, context);
    }
}
