package org.moe4j.router;

import java.util.Optional;

/** The way of one token from logits to experts and weights, with room that serves token after token. For one thread. */
final class TokenChoice {
    private final RouterConfig config;
    private final Optional<SelectionBias> bias;
    private final double[] scores;
    private final double[] choiceScores;
    private final double[] selected;
    private final double[] workspace;

    TokenChoice(RouterConfig config, Optional<SelectionBias> bias) {
        this.config = config;
        this.bias = bias;
        boolean ranksScores = !config.renormalization().ofLogits();
        boolean restricted = !(config.selection() instanceof ExpertSelection.PlainTopK);
        scores = new double[config.experts()];
        choiceScores = ranksScores && bias.isEmpty() && !restricted ? scores : new double[config.experts()];
        selected = new double[config.topK()];
        workspace = config.selection().workspace(config.topK());
    }

    /** Selects the experts of a token and computes their weights, but for the scale. */
    void route(double[] logits, int token, int[] experts, double[] weights) {
        double[] ranked = choiceScores(logits, token);
        int topK = config.topK();
        config.selection().select(ranked, topK, token, experts, workspace);
        boolean ofLogits = config.renormalization().ofLogits();
        for (int rank = 0; rank < topK; rank++) {
            int expert = experts[token * topK + rank];
            selected[rank] = ofLogits ? logits[token * scores.length + expert] : scores[expert];
        }
        config.renormalization().weights(selected, token, weights);
    }

    /** What the experts of a token are ranked by, valid until the next call. Where weights come from scores, these are made too. */
    double[] choiceScores(double[] logits, int token) {
        double[] ranked = logits;
        int from = token * scores.length;
        if (!config.renormalization().ofLogits()) {
            config.score().scores(logits, token, scores);
            if (choiceScores == scores) {
                return scores;
            }
            ranked = scores;
            from = 0;
        }
        if (bias.isPresent()) {
            bias.get().add(ranked, from, choiceScores);
        } else {
            System.arraycopy(ranked, from, choiceScores, 0, scores.length);
        }
        config.selection().restrict(choiceScores, config.topK(), workspace);
        return choiceScores;
    }
}
