package org.moe4j.router;

import java.util.Arrays;

/**
 * Sinkhorn's balancing of the logits of a batch. With {@code m_t} the largest logit of a token, {@code A_te = e^(m_t)·a_te} and
 * {@code c_t = e^(−m_t)·r_t}: {@code r_t = 1/(T·(Σ_e d_e·a_te + ε·e^(−m_t)))}, and no exponential above 1 is formed but the one of the epsilon, beside
 * which all else vanishes where it is infinite.
 */
final class SinkhornBalance {
    private static final double EPSILON = 1e-8; // of Megatron-Core

    private final LogitRows logits;
    private final int experts;
    private final double[] powers; // a, token after token
    private final double[] epsilons; // ε·e^(−m_t)
    private final double[] columns; // d

    SinkhornBalance(ExpertSelection.Sinkhorn rule, LogitRows logits) {
        this.logits = logits;
        experts = logits.experts();
        powers = new double[logits.tokens() * experts];
        epsilons = new double[logits.tokens()];
        columns = new double[experts];
        Arrays.fill(columns, 1);
        double[] row = new double[experts];
        for (int t = 0; t < logits.tokens(); t++) {
            logits.row(t, row);
            double max = Arrays.stream(row).max().orElseThrow();
            epsilons[t] = EPSILON * StrictMath.exp(-max);
            for (int e = 0; e < experts; e++) {
                powers[t * experts + e] = Exponential.of(row[e] - max);
            }
        }
        double change = Double.POSITIVE_INFINITY;
        for (int i = 0; i < rule.maxIterations() && change > rule.tolerance(); i++) {
            change = iterate();
        }
    }

    /** One step for all rows and then all columns; the mean change of the columns' factors. */
    private double iterate() {
        double[] sums = new double[experts];
        for (int t = 0; t < epsilons.length; t++) {
            double sum = 0;
            for (int e = 0; e < experts; e++) {
                sum += columns[e] * powers[t * experts + e];
            }
            double factor = 1 / (epsilons.length * (sum + epsilons[t]));
            for (int e = 0; e < experts; e++) {
                sums[e] += factor * powers[t * experts + e];
            }
        }
        double change = 0;
        for (int e = 0; e < experts; e++) {
            double next = Math.max(Double.MIN_NORMAL, 1 / (experts * (sums[e] + EPSILON))); // 0 would divide 0
            change += Math.abs(next - columns[e]);
            columns[e] = next;
        }
        return change / experts;
    }

    /** The K best experts of each token: a factor of the token changes nothing, so they are ranked by {@code l_te + ln d_e}. */
    ExpertLists best(int topK) {
        int[] chosen = new int[logits.tokens() * topK];
        double[] shifts = Arrays.stream(columns).map(StrictMath::log).toArray();
        double[] row = new double[experts];
        TopK best = new TopK(experts, topK);
        for (int t = 0; t < logits.tokens(); t++) {
            logits.row(t, row);
            for (int e = 0; e < experts; e++) {
                row[e] += shifts[e];
            }
            best.select(row, chosen, t * topK);
        }
        return ExpertLists.ofFixed(topK, chosen);
    }
}
