package org.moe4j.router.loss;

import java.util.Arrays;
import java.util.List;
import org.moe4j.core.internal.Require;

/**
 * {@code coefficient · E/(K·n²) · Σ_e c̄_e Σ_t u_te}: Megatron-Core's {@code global_aux_loss}. The scores u and their number n are of the
 * micro-batch at hand; the counts {@code c̄} are the mean of those of all micro-batches of the step so far, this one among them. Both are as in
 * {@link LoadBalancingLoss#megatron}, which it equals for the first micro-batch. Balanced value 1.
 *
 * <p>What was counted so far is a value that the trainer keeps, one for each layer, and forgets after a step:
 *
 * <pre>{@code
 * Seen seen = Seen.none(experts);
 * for each micro-batch:
 *     loss = new GlobalBalancingLoss(0.01, seen)        // part of this pass
 *     seen = seen.and(pass)                             // for the next one
 * }</pre>
 *
 * <p>Gradient: {@code du_te = coefficient · E/(K·n²) · c̄_e}, then through the scores.
 *
 * @param coefficient at least 0
 * @param seen counts of the micro-batches before
 * @see <a href="https://arxiv.org/abs/2501.11873">Qiu et al. 2025: Demons in the Detail</a>
 */
public record GlobalBalancingLoss(double coefficient, Seen seen) implements RouterLoss {
    private static final LoadBalancingLoss LOCAL = LoadBalancingLoss.megatron(1);

    /** Counts of some micro-batches of one layer. Immutable. */
    public static final class Seen {
        private final double[] counts; // whole numbers: sums stay exact below 2^53
        private final int batches;

        private Seen(double[] counts, int batches) {
            this.counts = counts;
            this.batches = batches;
        }

        /**
         * Nothing yet: the begin of a step.
         *
         * @param experts E, at least 1
         * @return zeros
         * @throws IllegalArgumentException for {@code experts} below 1
         */
        public static Seen none(int experts) {
            return new Seen(new double[Require.atLeast("experts", experts, 1)], 0);
        }

        /**
         * These and another micro-batch.
         *
         * @param layer of E experts
         * @return a new value
         */
        public Seen and(RoutedTokens layer) {
            return and(sums(layer).groups().get(0));
        }

        private Seen and(GroupSums sums) {
            double[] more = sums.counts().clone();
            Require.count("layer", more.length, counts.length, "experts, as counted before");
            BalanceSums.add(counts, more);
            return new Seen(more, batches + 1);
        }

        /**
         * Mean counts per micro-batch.
         *
         * @return E numbers; zeros when there was none
         */
        public double[] mean() {
            return Arrays.stream(counts)
                    .map(count -> count / Math.max(1, batches))
                    .toArray();
        }

        /**
         * Number of micro-batches.
         *
         * @return at least 0
         */
        public int batches() {
            return batches;
        }
    }

    /**
     * Checks the coefficient.
     *
     * @param coefficient at least 0
     * @param seen counts of the micro-batches before
     */
    public GlobalBalancingLoss {
        TokenGroups.coefficient(coefficient);
    }

    private static BalanceSums sums(RoutedTokens layer) {
        return new BalanceSums(layer, LOCAL.counts(), LOCAL.scores(), TokenGroups.batch(layer));
    }

    @Override
    public String name() {
        return "global";
    }

    /**
     * {@inheritDoc}
     *
     * @param layers the one layer whose counts these are
     */
    @Override
    public double value(List<? extends RoutedTokens> layers) {
        RoutedTokens layer = only(layers);
        GroupSums sums = sums(layer).groups().get(0);
        return factor(layer, sums) * BalanceSums.product(seen.and(sums).mean(), sums.sums());
    }

    @Override
    public void addGradients(List<? extends RoutedTokens> layers, List<LogitGradients> into) {
        RoutedTokens layer = only(layers);
        TokenGroups.requireOnePerLayer(into, layers);
        BalanceSums sums = sums(layer);
        GroupSums group = sums.groups().get(0);
        sums.addGradients(
                new double[] {factor(layer, group)},
                new double[][] {seen.and(group).mean()},
                into.get(0));
    }

    private static RoutedTokens only(List<? extends RoutedTokens> layers) {
        Require.count("layers", layers.size(), 1, "(one layer, whose counts were kept)");
        return layers.get(0);
    }

    private double factor(RoutedTokens layer, GroupSums sums) {
        double n = sums.valid();
        int topK = layer.topK();
        return n == 0 || topK == 0 ? 0 : coefficient * layer.routing().experts() / (topK * n * n);
    }
}
