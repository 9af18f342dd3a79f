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
    private static final double HIGHEST =
            20; // above it the polynomial is not used; the sigmoid is 1 to within the error

    private final ScoreFunction.Sigmoid score;
    private final TopK best;
    private final Optional<GroupLimit> groups;
    private final double[] added; // selection bias and epsilon
    private final double[] bias;
    private final double[] rough;
    private final double[] exact;
    private final double error;

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
            largest = Math.max(largest, Math.abs(added[e]));
        }
        error = ERROR + largest * 0x1p-50;
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
    boolean select(double[] logits, int token, int[] into, int first) {
        int from = token * rough.length;
        roughly(logits, from, added, rough);
        if (groups.isPresent() && !groups.get().close(rough, error)) {
            return false;
        }
        order(best.list(rough, best.level()), logits, from, into, first);
        if (best.last() - error < best.reached()) { // one that does not roughly reach the level might still be better
            order(best.list(rough, best.last() - 2 * error), logits, from, into, first);
        }
        best.learn();
        return true;
    }

    /** Rough sigmoids of the logits from a place on, plus given numbers. */
    static void roughly(double[] logits, int from, double[] added, double[] into) {
        System.arraycopy(
                logits, from, into, 0, into.length); // a loop that reads from an offset gets no vector instructions
        for (int e = 0; e < into.length; e++) {
            double r = Math.min(into[e], HIGHEST) * (-1.0 / 32);
            double p = 1 + r * (1 + r * (0.5 + r * (1.0 / 6 + r * (1.0 / 24))));
            p = p * p;
            p = p * p;
            p = p * p;
            p = p * p;
            p = p * p;
            into[e] = 1 / (1 + p) + added[e];
        }
    }

    private void order(int count, double[] logits, int from, int[] into, int first) {
        int[] listed = best.listed();
        double[] values = best.values();
        for (int i = 0; i < count; i++) {
            int expert = listed[i];
            exact[expert] = score.of(logits[from + expert]);
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
