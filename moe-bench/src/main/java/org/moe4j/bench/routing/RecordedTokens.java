package org.moe4j.bench.routing;

import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.loss.RoutedTokens;

/**
 * Tokens that went to recorded experts, with the scores that a rule makes of their logits. Losses read no weights of it, and nothing runs
 * backward.
 *
 * @param routing of the recorded experts, with weights of 0
 * @param scored the same tokens by the rule
 */
record RecordedTokens(Routing routing, RoutedTokens scored) implements RoutedTokens {
    static RoutedTokens of(ChosenExperts recorded, RoutedTokens scored) {
        int[] experts = new int[recorded.slots()];
        for (int slot = 0; slot < experts.length; slot++) {
            experts[slot] = recorded.expert(slot);
        }
        Routing routing = Routing.of(recorded.experts(), scored.topK(), experts, new double[experts.length]);
        return new RecordedTokens(routing, scored);
    }

    @Override
    public int topK() {
        return scored.topK();
    }

    @Override
    public RoutingContext context() {
        return scored.context();
    }

    @Override
    public double[] logits() {
        return scored.logits();
    }

    @Override
    public double[] scores() {
        return scored.scores();
    }

    @Override
    public double[] logitGradients(double[] dScores) {
        return scored.logitGradients(dScores);
    }

    @Override
    public double[] logitGradientsOfWeights(double[] dWeights) {
        throw new UnsupportedOperationException("recorded experts: expected no backward");
    }
}
