package org.moe4j.router;

import java.util.Arrays;
import java.util.List;
import org.moe4j.core.internal.Require;

/**
 * A number for each expert that is added to its score for the choice of experts only, never for the weights: balancing without a
 * loss. It is {@code double}, has no gradient, and is no parameter; a trainer makes a new one from the counts of the actual
 * routing. Immutable.
 *
 * <p>Counts are those of {@link org.moe4j.core.dispatch.Routing#tokensPerExpert}, with bias and groups in effect and before any
 * capacity, summed over whatever the trainer regards as one step.
 *
 * @see <a href="https://arxiv.org/abs/2408.15664">Wang et al. 2024: Auxiliary-Loss-Free Load Balancing Strategy for
 *     Mixture-of-Experts</a>
 */
public final class SelectionBias {
    private static final double LARGEST = 1e290; // added to the largest double it gives no infinity

    private final double[] values;

    private SelectionBias(double[] values) {
        this.values = values;
    }

    /**
     * No bias yet.
     *
     * @param experts E, at least 1
     * @return zeros
     * @throws IllegalArgumentException for {@code experts} below 1
     */
    public static SelectionBias zeros(int experts) {
        return new SelectionBias(new double[Require.atLeast("experts", experts, 1)]);
    }

    /**
     * Given values, as of a checkpoint.
     *
     * @param values E numbers of at most 1e290 in size, copied
     * @return the bias
     * @throws IllegalArgumentException for no value, or one that is not finite or beyond ±1e290
     */
    public static SelectionBias of(double[] values) {
        Require.atLeast("values.length", values.length, 1);
        for (int e = 0; e < values.length; e++) {
            if (!(Math.abs(values[e]) <= LARGEST)) {
                throw Require.expected(
                        "values", "numbers of at most " + LARGEST + " in size", values[e] + " for expert " + e);
            }
        }
        return new SelectionBias(values.clone());
    }

    /**
     * Number of experts.
     *
     * @return E
     */
    public int experts() {
        return values.length;
    }

    /**
     * The values.
     *
     * @return E numbers, a copy
     */
    public double[] values() {
        return values.clone();
    }

    /** Adds the bias to the E numbers of a token. */
    void addTo(double[] ranked) {
        for (int e = 0; e < values.length; e++) {
            ranked[e] += values[e];
        }
    }

    /**
     * One step of the sign rule: {@code b_e + rate · sign(mean(n) − n_e)}. An expert with exactly the mean keeps its value; the
     * comparison is in whole numbers.
     *
     * @param tokensPerExpert n, E counts of the actual routing
     * @param rate above 0, as 0.001
     * @return a new bias
     * @throws IllegalArgumentException for another number of counts, a count below 0, or a rate that is not finite and above 0
     */
    public SelectionBias updated(int[] tokensPerExpert, double rate) {
        Require.count("tokensPerExpert", tokensPerExpert.length, values.length, "counts (experts)");
        if (!(rate > 0) || Double.isInfinite(rate)) {
            throw Require.expected("rate", "a finite number above 0", rate);
        }
        long total = 0;
        for (int count : tokensPerExpert) {
            total += Require.atLeast("tokensPerExpert", count, 0);
        }
        double[] next = new double[values.length];
        for (int e = 0; e < next.length; e++) {
            next[e] = values[e] + rate * Long.signum(total - (long) values.length * tokensPerExpert[e]);
        }
        return of(next);
    }

    /**
     * The same step, after which the mean of the values is subtracted, so that it is 0 up to rounding. Without groups both rules select
     * the same experts, since they differ by a number that all experts have in common; the values drift apart.
     *
     * @param tokensPerExpert n, E counts of the actual routing
     * @param rate above 0, as 0.001
     * @return a new bias
     */
    public SelectionBias updatedCentered(int[] tokensPerExpert, double rate) {
        return of(centered(updated(tokensPerExpert, rate).values));
    }

    /**
     * One step of quantile balancing: {@code b ← memory · b + (1 − memory) · mean_i b_i}, after which the mean of the values is
     * subtracted. The {@code b_i} are what {@link TopKPass#quantileBias} says of each batch of a step.
     *
     * <p>Who: Megatron-Core ({@code NVIDIA/Megatron-LM}, load balancing type {@code quantile_balancing}), whose
     * {@code qb_beta} is the negative of this bias; it subtracts the mean when it updates.
     *
     * @param batches at least one, with as many experts
     * @param memory in [0, 1); 0 takes the batches alone
     * @return a new bias
     * @throws IllegalArgumentException for no batch, batches of another number of experts, or a memory outside [0, 1)
     */
    public SelectionBias updatedByQuantiles(List<SelectionBias> batches, double memory) {
        Require.atLeast("batches.size", batches.size(), 1);
        if (!(memory >= 0 && memory < 1)) {
            throw Require.expected("memory", "a number of at least 0 and less than 1", memory);
        }
        double[] next = new double[values.length];
        for (SelectionBias batch : batches) {
            Require.count("batches", batch.experts(), values.length, "values (experts)");
            Arrays.setAll(next, e -> next[e] + batch.values[e]);
        }
        Arrays.setAll(next, e -> memory * values[e] + (1 - memory) * (next[e] / batches.size()));
        return of(centered(next));
    }

    private static double[] centered(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        double mean = sum / values.length;
        return Arrays.stream(values).map(value -> value - mean).toArray();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SelectionBias that && Arrays.equals(values, that.values);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(values);
    }

    @Override
    public String toString() {
        return "SelectionBias" + Arrays.toString(values);
    }
}
