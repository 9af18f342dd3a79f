package org.moe4j.router;

import java.util.Optional;

/**
 * The selection of a sigmoid router, from sigmoids that are computed roughly for all experts and exactly for the few that may be
 * among the K best. The experts it selects are those that exact scores select. For one thread, token after token.
 *
 * <p>Rough: {@code e^−l = (e^(−l/32))³²}, the power of 1/32 by a polynomial of degree 4 and then squared five times: the JVM's compiler
 * makes vector instructions of it, as there is no table and no branch. Its error is below 2·10⁻⁷ for every
 * logit.
 */
final class SigmoidSelection {
    private static final double ERROR = 1e-6; // five times the error of the rough sigmoid, for all roundings beside it
    private static final double ERROR_SINGLE = 1e-5; // the same, whose error is below 2·10⁻⁶
    private static final int HIGHEST = 20; // above it the polynomial is not used; the sigmoid is 1 to within the error

    private final ScoreFunction.Sigmoid score;
    private final TopK best;
    private final Optional<GroupLimit> groups;
    private final double[] added; // selection bias and epsilon
    private final double[] bias;
    private final double[] rough;
    private final double[] exact;
    private final double error;
    private final float[] addedSingle;
    private final float[] roughSingle;
    private final double errorSingle;

    private SigmoidSelection(
            ScoreFunction.Sigmoid score, double[] bias, int experts, TopK best, Optional<GroupLimit> groups) {
        this.score = score;
        this.best = best;
        this.groups = groups;
        this.bias = bias;
        added = bias.clone();
        rough = new double[experts];
        exact = new double[experts];
        double largest = 0;
        for (int e = 0; e < experts; e++) {
            added[e] += score.epsilon();
            largest = Math.max(largest, Math.abs(bias[e]) + score.epsilon());
        }
        error = ERROR + largest * 0x1p-50;
        addedSingle = new float[experts];
        for (int e = 0; e < experts; e++) {
            addedSingle[e] = (float) added[e];
        }
        roughSingle = new float[experts];
        errorSingle = ERROR_SINGLE + largest * 0x1p-21;
    }

    /** For routers that rank sigmoids; empty for others. */
    static Optional<SigmoidSelection> of(
            RouterConfig config, Optional<SelectionBias> bias, TopK best, Optional<GroupLimit> groups) {
        boolean zeroFill = config.selection() instanceof ExpertSelection.GroupLimited limited
                && limited.closedGroups() == ExpertSelection.ClosedGroups.ZERO; // a closed expert could be in question
        if (!(config.score() instanceof ScoreFunction.Sigmoid sigmoid) || zeroFill) {
            return Optional.empty();
        }
        double[] values = bias.map(SelectionBias::values).orElseGet(() -> new double[config.experts()]);
        return Optional.of(new SigmoidSelection(sigmoid, values, config.experts(), best, groups));
    }

    /**
     * Selects for one token.
     *
     * @return false when only exact scores can tell which groups stay open; nothing is selected then
     */
    boolean select(LogitRows logits, int token, int[] into, int first) {
        if (logits.isSingle() && groups.isEmpty() && errorSingle < 1) {
            inSingle(logits, token, into, first);
            return true;
        }
        logits.row(token, rough);
        roughly(rough, added);
        if (groups.isPresent() && !groups.get().close(rough, error)) {
            return false;
        }
        order(best.list(rough, best.level()), logits, token, into, first);
        if (best.last() - error < best.reached()) { // one that does not roughly reach the level might still be better
            order(best.list(rough, best.last() - 2 * error), logits, token, into, first);
        }
        best.learn();
        return true;
    }

    private void inSingle(LogitRows logits, int token, int[] into, int first) {
        int experts = roughSingle.length;
        System.arraycopy(logits.singles(), token * experts, roughSingle, 0, experts);
        roughly(roughSingle, addedSingle);
        order(best.list(roughSingle, best.level()), logits, token, into, first);
        if (best.last() - errorSingle < best.reached()) {
            order(best.list(roughSingle, best.last() - 2 * errorSingle), logits, token, into, first);
        }
        best.learn();
    }

    /** Logits become rough sigmoids plus given numbers. */
    static void roughly(double[] logits, double[] added) {
        for (int e = 0; e < logits.length; e++) {
            double r = Math.min(logits[e], HIGHEST) * (-1.0 / 32);
            double p = 1 + r * (1 + r * (0.5 + r * (1.0 / 6 + r * (1.0 / 24))));
            p = p * p;
            p = p * p;
            p = p * p;
            p = p * p;
            p = p * p;
            logits[e] = 1 / (1 + p) + added[e];
        }
    }

    /** The same in single precision, whose roundings the squaring makes 32 times as large. */
    static void roughly(float[] logits, float[] added) {
        for (int e = 0; e < logits.length; e++) {
            float r = Math.min(logits[e], HIGHEST) * (-1f / 32);
            float p = 1 + r * (1 + r * (0.5f + r * (1f / 6 + r * (1f / 24))));
            p = p * p;
            p = p * p;
            p = p * p;
            p = p * p;
            p = p * p;
            logits[e] = 1 / (1 + p) + added[e];
        }
    }

    private void order(int count, LogitRows logits, int token, int[] into, int first) {
        int[] listed = best.listed();
        double[] values = best.values();
        for (int i = 0; i < count; i++) {
            int expert = listed[i];
            exact[expert] = score.of(logits.get(token, expert));
            boolean closed = rough[expert] == Double.NEGATIVE_INFINITY;
            values[i] = closed ? Double.NEGATIVE_INFINITY : exact[expert] + bias[expert];
        }
        best.order(count, into, first);
    }

    /** Exact scores of the selected, without bias. */
    void scores(int[] selected, int first, double[] into) {
        for (int rank = 0; rank < into.length; rank++) {
            into[rank] = exact[selected[first + rank]];
        }
    }
}
