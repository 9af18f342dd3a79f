package org.moe4j.router;

import java.util.Optional;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;

/** The way of one token from logits to experts and weights, with room that serves token after token. For one thread. */
final class TokenChoice {
    private final RouterConfig config;
    private final Optional<SelectionBias> bias;
    private final double[] row;
    private final double[] scores;
    private final double[] choiceScores;
    private final double[] selected;
    private final TopK best;
    private final Optional<GroupLimit> groups;
    private final Optional<SigmoidSelection> sigmoids;

    TokenChoice(RouterConfig config, Optional<SelectionBias> bias) {
        this.config = config;
        this.bias = bias;
        int experts = config.experts();
        int topK = config.topK();
        groups = config.selection() instanceof ExpertSelection.GroupLimited limited
                ? Optional.of(new GroupLimit(limited, experts, topK))
                : Optional.empty();
        row = new double[experts];
        scores = new double[experts];
        choiceScores = new double[experts];
        selected = new double[topK];
        best = new TopK(experts, topK);
        sigmoids = SigmoidSelection.of(config, bias, best, groups);
    }

    /** The routing of T tokens. */
    static Routing routing(RouterConfig config, Optional<SelectionBias> bias, LogitRows logits) {
        int tokens = logits.tokens();
        int[] experts = new int[Require.elements(tokens, config.topK())];
        double[] weights = new double[experts.length];
        TokenChoice choice = new TokenChoice(config, bias);
        for (int t = 0; t < tokens; t++) {
            choice.route(logits, t, experts, weights);
        }
        if (config.scale() != 1) {
            for (int slot = 0; slot < weights.length; slot++) {
                weights[slot] *= config.scale();
            }
        }
        return Routing.of(config.experts(), config.topK(), experts, weights);
    }

    /** Selects the experts of a token and computes their weights, but for the scale. */
    void route(LogitRows logits, int token, int[] experts, double[] weights) {
        int first = token * selected.length;
        if (sigmoids.isPresent() && sigmoids.get().select(logits, token, experts, first)) {
            sigmoids.get().scores(experts, first, selected);
        } else {
            best.select(choiceScores(logits, token), experts, first);
            double[] given = config.renormalization().ofLogits() ? row : scores;
            for (int rank = 0; rank < selected.length; rank++) {
                selected[rank] = given[experts[first + rank]];
            }
        }
        config.renormalization().weights(selected, token, weights);
    }

    /** What the experts of a token are ranked by, valid until the next call. Where weights come from scores, these are made too. */
    double[] choiceScores(LogitRows logits, int token) {
        logits.row(token, row);
        double[] ranked = row;
        if (!config.renormalization().ofLogits()) {
            config.score().scores(row, 0, scores);
            ranked = scores;
        }
        if (bias.isEmpty() && groups.isEmpty()) {
            return ranked;
        }
        System.arraycopy(ranked, 0, choiceScores, 0, ranked.length);
        bias.ifPresent(b -> b.addTo(choiceScores));
        groups.ifPresent(limit -> limit.close(choiceScores));
        return choiceScores;
    }
}
