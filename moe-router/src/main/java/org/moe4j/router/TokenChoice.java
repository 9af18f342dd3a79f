package org.moe4j.router;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;

/** The way of one token from logits to experts and weights, with room that serves token after token. For one thread. */
final class TokenChoice {
    private static final int COPIED_AT_ONCE = 1 << 14; // half of them fit the first cache

    private final RouterConfig config;
    private final Optional<SelectionBias> bias;
    private final double[] logitRow;
    private final double[] scores;
    private final double[] choiceScores;
    private final double[] selected;
    private float[] copied = new float[0];
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
        logitRow = new double[experts];
        scores = new double[experts];
        choiceScores = new double[experts];
        selected = new double[topK];
        best = new TopK(experts, topK);
        sigmoids = SigmoidSelection.of(config, bias, best, groups);
    }

    /** The routing of T tokens. */
    static Routing routing(RouterConfig config, Optional<SelectionBias> bias, LogitRows logits) {
        Slots slots = new Slots(config, logits.tokens());
        slots.fill(new TokenChoice(config, bias), logits, 0);
        return slots.routing(config);
    }

    private Routing routing(Matrix logits) {
        Slots slots = new Slots(config, logits.rows());
        int part = Math.min(logits.rows(), Math.max(1, COPIED_AT_ONCE / config.experts()));
        if (copied.length != part * config.experts()) {
            copied = new float[part * config.experts()];
        }
        for (int from = 0; from < logits.rows(); from += part) {
            slots.fill(this, LogitRows.part(logits, from, Math.min(logits.rows(), from + part), copied), from);
        }
        return slots.routing(config);
    }

    /** Room for calls one after another; a call that finds it taken by another thread makes its own. Safe for use by several threads. */
    static final class Room {
        private final RouterConfig config;
        private final Optional<SelectionBias> bias;
        private final AtomicReference<@Nullable TokenChoice> spare = new AtomicReference<>();

        Room(RouterConfig config, Optional<SelectionBias> bias) {
            this.config = config;
            this.bias = bias;
        }

        RouterConfig config() {
            return config;
        }

        Optional<SelectionBias> bias() {
            return bias;
        }

        /** The routing of T tokens by the logits in a matrix, of which no more than a part is copied at a time if it is in single precision. */
        Routing routing(Matrix logits) {
            if (!LogitRows.isSingle(logits)) {
                return TokenChoice.routing(config, bias, LogitRows.of(logits));
            }
            TokenChoice free = spare.getAndSet(null);
            TokenChoice choice = free == null ? new TokenChoice(config, bias) : free;
            Routing routing = choice.routing(logits);
            spare.set(choice);
            return routing;
        }
    }

    /** What is being written: the experts and weights of all tokens. */
    private static final class Slots {
        private final int[] experts;
        private final double[] weights;

        Slots(RouterConfig config, int tokens) {
            experts = new int[Require.elements(tokens, config.topK())];
            weights = new double[experts.length];
        }

        void fill(TokenChoice choice, LogitRows logits, int firstToken) {
            for (int row = 0; row < logits.tokens(); row++) {
                choice.route(logits, row, firstToken + row, experts, weights);
            }
        }

        Routing routing(RouterConfig config) {
            for (int slot = 0; config.scale() != 1 && slot < weights.length; slot++) {
                weights[slot] *= config.scale();
            }
            return Routing.of(config.experts(), config.topK(), experts, weights);
        }
    }

    /** Selects the experts of a token and computes their weights, but for the scale. */
    private void route(LogitRows logits, int row, int token, int[] experts, double[] weights) {
        int first = token * selected.length;
        if (sigmoids.isPresent() && sigmoids.get().select(logits, row, experts, first)) {
            sigmoids.get().scores(experts, first, selected);
        } else {
            best.select(choiceScores(logits, row), experts, first);
            double[] given = config.renormalization().ofLogits() ? logitRow : scores;
            for (int rank = 0; rank < selected.length; rank++) {
                selected[rank] = given[experts[first + rank]];
            }
        }
        config.renormalization().weights(selected, token, weights, first);
    }

    /** What the experts of a token are ranked by, valid until the next call. Where weights come from scores, these are made too. */
    double[] choiceScores(LogitRows logits, int row) {
        logits.row(row, logitRow);
        double[] ranked = logitRow;
        if (!config.renormalization().ofLogits()) {
            config.score().scores(logitRow, 0, scores);
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
