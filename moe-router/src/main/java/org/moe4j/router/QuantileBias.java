package org.moe4j.router;

import java.util.Arrays;
import java.util.Optional;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.RoutingContext;

/** What one batch says of the selection bias by quantiles of its choice scores. */
final class QuantileBias {
    private QuantileBias() {}

    static SelectionBias of(
            RouterConfig config, Optional<SelectionBias> bias, LogitRows logits, RoutingContext context) {
        SelectionBias current = bias.orElseThrow(
                () -> Require.expected("selectionBias", "a SelectionBias (config.selectionBias)", "absent"));
        check(config, logits.tokens(), context);
        int tokens = logits.tokens();
        int experts = config.experts();
        double[][] columns = new double[experts][tokens];
        TokenChoice unbiased = new TokenChoice(config, Optional.empty());
        double[] biased = new double[experts];
        for (int t = 0; t < tokens; t++) {
            double[] ranked = unbiased.choiceScores(logits, t);
            System.arraycopy(ranked, 0, biased, 0, experts);
            current.addTo(biased);
            Arrays.sort(biased);
            double admission = biased[experts - 1 - config.topK()];
            for (int e = 0; e < experts; e++) {
                columns[e][t] = ranked[e] - admission;
            }
        }
        int rank = (int) ((long) tokens * config.topK() / experts);
        double[] values = new double[experts];
        for (int e = 0; e < experts; e++) {
            Arrays.sort(columns[e]);
            values[e] = -columns[e][tokens - 1 - rank];
        }
        return SelectionBias.of(values);
    }

    private static void check(RouterConfig config, int tokens, RoutingContext context) {
        if (!(config.selection() instanceof ExpertSelection.PlainTopK)) {
            throw Require.expected("selection", "PlainTopK[] with quantile balancing", config.selection());
        }
        Require.inRange("topK", config.topK(), 1, config.experts() - 1, "below the experts with quantile balancing");
        Require.atLeast("tokens", tokens, 1);
        if ((long) tokens * config.topK() % config.experts() != 0) {
            throw Require.expected(
                    "tokens",
                    "tokens x topK that the " + config.experts() + " experts divide",
                    tokens + " x " + config.topK());
        }
        if (context.valid().isPresent()) {
            throw Require.expected("context.valid", "none with quantile balancing", "a mask");
        }
    }
}
