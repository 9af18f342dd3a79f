package org.moe4j.router;

import org.moe4j.core.dispatch.Routing;

/** Weights of experts that were chosen in any way, and their way back: scores of all, renormalisation over the chosen, scale. */
final class ChosenWeights {
    private final RouterConfig config;
    private final double[] logits;
    private final double[] scores;
    private double[] selected = new double[0];
    private double[] dSlots = new double[0];
    private double[] dSelected = new double[0];

    private ChosenWeights(RouterConfig config) {
        this.config = config;
        logits = new double[config.experts()];
        scores = new double[config.experts()];
    }

    /** The routing of chosen experts. */
    static Routing routing(RouterConfig config, LogitRows logits, ExpertLists chosen) {
        ChosenWeights room = new ChosenWeights(config);
        double[] weights = new double[chosen.experts().length];
        for (int t = 0; t < chosen.tokens(); t++) {
            if (chosen.count(t) > 0) {
                room.weights(logits, t, chosen, weights);
            }
        }
        return config.selection().fixedCount()
                ? Routing.of(config.experts(), config.topK(), chosen.experts(), weights)
                : Routing.ofVarying(config.experts(), chosen.offsets(), chosen.experts(), weights);
    }

    private void weights(LogitRows rows, int token, ExpertLists chosen, double[] into) {
        resize(chosen.count(token));
        int from = chosen.offsets()[token];
        double[] given = given(rows, token);
        for (int rank = 0; rank < selected.length; rank++) {
            selected[rank] = given[chosen.experts()[from + rank]];
        }
        config.renormalization().weights(selected, token, into, from);
        for (int rank = 0; rank < selected.length; rank++) {
            into[from + rank] *= config.scale();
        }
    }

    /** What weights are made from: the scores of a token, or its logits. */
    private double[] given(LogitRows rows, int token) {
        rows.row(token, logits);
        if (config.renormalization().ofLogits()) {
            return logits;
        }
        config.score().scores(logits, 0, scores);
        return scores;
    }

    private void resize(int count) {
        if (selected.length != count) { // never, where all tokens have K
            selected = new double[count];
            dSlots = new double[count];
            dSelected = new double[count];
        }
    }

    /**
     * Adds the gradients of the logits.
     *
     * @param weighed the experts whose scores made the weights
     * @param dWeights one for each of these
     * @param into T·E numbers, added to
     */
    static void addLogitGradients(
            RouterConfig config, LogitRows logits, Routing weighed, double[] dWeights, double[] into) {
        ChosenWeights room = new ChosenWeights(config);
        double[] dScores = new double[config.experts()];
        double[] dRow = new double[config.experts()];
        for (int t = 0; t < weighed.tokens(); t++) {
            if (weighed.count(t) > 0) {
                room.addGradients(logits, t, weighed, dWeights, dScores, dRow);
                for (int e = 0; e < dRow.length; e++) {
                    into[t * dRow.length + e] += dRow[e];
                    dRow[e] = 0;
                }
            }
        }
    }

    private void addGradients(
            LogitRows rows, int token, Routing weighed, double[] dWeights, double[] dScores, double[] dLogits) {
        resize(weighed.count(token));
        double[] given = given(rows, token);
        for (int rank = 0; rank < selected.length; rank++) {
            selected[rank] = given[weighed.expert(token, rank)];
            dSlots[rank] = config.scale() * dWeights[weighed.slot(token, rank)];
        }
        config.renormalization().scoreGradients(selected, dSlots, dSelected);
        boolean ofLogits = config.renormalization().ofLogits();
        double[] target = ofLogits ? dLogits : dScores;
        for (int rank = 0; rank < selected.length; rank++) {
            target[weighed.expert(token, rank)] = dSelected[rank];
        }
        if (!ofLogits) {
            config.score().logitGradients(logits, 0, scores, dScores, dLogits);
            for (int rank = 0; rank < selected.length; rank++) {
                dScores[weighed.expert(token, rank)] = 0;
            }
        }
    }
}
