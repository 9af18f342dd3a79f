package org.moe4j.router.analysis;

import java.util.Arrays;
import java.util.Objects;
import org.moe4j.core.internal.Require;

/**
 * How the assignments of one layer's tokens are spread over its experts. Without assignments every measure is 0.
 *
 * <p>Who: the article on OLMoE-1B-7B (LLM Architecture Refresh 5, sections 4, 6 and 8) has shares, busiest against even, coefficient of
 * variation and rows per call; the maximum violation is that of Wang et al. 2024 (arXiv:2408.15664, Section 4.1).
 */
public final class ExpertLoad {
    private final long[] counts;
    private final long tokens;
    private final long assignments;

    private ExpertLoad(long[] counts, long tokens) {
        this.counts = counts;
        this.tokens = tokens;
        assignments = sum(counts);
    }

    private static long sum(long[] counts) {
        long sum = 0;
        for (long count : counts) {
            if (Long.MAX_VALUE - sum < count) {
                throw Require.expected("counts", "a sum below 2^63", sum + " + " + count);
            }
            sum += count;
        }
        return sum;
    }

    /**
     * Given counts.
     *
     * @param counts tokens of each of E experts; copied
     * @param tokens T
     * @return the load
     * @throws IllegalArgumentException for no expert, or a count outside 0..T
     */
    public static ExpertLoad of(long[] counts, long tokens) {
        Require.atLeast("counts.length", counts.length, 1);
        for (long count : counts) {
            if (count < 0 || count > tokens) {
                throw Require.expected("counts", "0.." + tokens + " (tokens)", count);
            }
        }
        return new ExpertLoad(counts.clone(), tokens);
    }

    /**
     * The load of all tokens of a source.
     *
     * @param source of one layer
     * @return its load
     */
    public static ExpertLoad of(RoutingSource source) {
        return source.stream(new Counter(source.experts())).result();
    }

    /** Counts while tokens come. */
    public static final class Counter implements RoutingObserver {
        private final long[] counts;
        private long tokens;

        /**
         * No tokens yet.
         *
         * @param experts E, at least 1
         * @throws IllegalArgumentException for {@code experts} below 1
         */
        public Counter(int experts) {
            counts = new long[Require.atLeast("experts", experts, 1)];
        }

        @Override
        public void add(ChosenExperts block) {
            Require.count("block", block.experts(), counts.length, "experts (of the tokens before)");
            for (int slot = 0, slots = block.slots(); slot < slots; slot++) {
                counts[block.expert(slot)]++;
            }
            tokens += block.tokens();
        }

        /**
         * The load so far.
         *
         * @return not changed by later tokens
         */
        public ExpertLoad result() {
            return new ExpertLoad(counts.clone(), tokens);
        }
    }

    /**
     * Both loads together, as of two passages in one batch.
     *
     * @param other of as many experts
     * @return the sum
     * @throws IllegalArgumentException for {@code other} with another number of experts
     */
    public ExpertLoad plus(ExpertLoad other) {
        Require.count("other", other.experts(), experts(), "experts");
        long[] sums = counts.clone();
        for (int e = 0; e < sums.length; e++) {
            sums[e] += other.counts[e];
        }
        return new ExpertLoad(sums, tokens + other.tokens);
    }

    /**
     * Number of experts.
     *
     * @return E
     */
    public int experts() {
        return counts.length;
    }

    /**
     * Number of tokens.
     *
     * @return T
     */
    public long tokens() {
        return tokens;
    }

    /**
     * Number of assignments.
     *
     * @return T·K where every token has K
     */
    public long assignments() {
        return assignments;
    }

    /**
     * Tokens of one expert.
     *
     * @param expert 0 ≤ expert &lt; E
     * @return at most T
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public long count(int expert) {
        return counts[Objects.checkIndex(expert, counts.length)];
    }

    /**
     * Tokens of each expert.
     *
     * @return E counts, a copy
     */
    public long[] counts() {
        return counts.clone();
    }

    /**
     * One expert's part of all assignments.
     *
     * @param expert 0 ≤ expert &lt; E
     * @return {@code c_e / Σ c}
     */
    public double share(int expert) {
        return assignments == 0 ? 0 : (double) count(expert) / assignments;
    }

    /**
     * Every expert's part of all assignments.
     *
     * @return E numbers with the sum 1
     */
    public double[] shares() {
        double[] shares = new double[counts.length];
        Arrays.setAll(shares, this::share);
        return shares;
    }

    /**
     * The part each would have if all were used alike.
     *
     * @return {@code 1/E}
     */
    public double evenShare() {
        return 1.0 / counts.length;
    }

    /**
     * The expert with the most tokens.
     *
     * @return of equal ones the lower index
     */
    public int busiest() {
        int best = 0;
        for (int e = 1; e < counts.length; e++) {
            best = counts[e] > counts[best] ? e : best;
        }
        return best;
    }

    /**
     * The expert with the fewest tokens.
     *
     * @return of equal ones the lower index
     */
    public int quietest() {
        int best = 0;
        for (int e = 1; e < counts.length; e++) {
            best = counts[e] < counts[best] ? e : best;
        }
        return best;
    }

    /**
     * The busiest expert's load over the mean load.
     *
     * @return {@code E · max_e c_e / Σ c}, at least 1
     */
    public double busiestVersusEven() {
        return assignments == 0 ? 0 : (double) counts[busiest()] * counts.length / assignments;
    }

    /**
     * By how much the busiest expert's load exceeds the mean, over the mean (MaxVio).
     *
     * @return {@code (max_e c_e − m)/m}
     */
    public double maximumViolation() {
        return assignments == 0 ? 0 : busiestVersusEven() - 1;
    }

    /**
     * Coefficient of variation with the population's standard deviation: E is divided by, not E − 1.
     *
     * @return {@code √(1/E · Σ (c_e − m)²) / m}
     */
    public double variation() {
        if (assignments == 0) {
            return 0;
        }
        double mean = (double) assignments / counts.length;
        double squares = 0;
        for (long count : counts) {
            squares += (count - mean) * (count - mean);
        }
        return Math.sqrt(squares / counts.length) / mean;
    }

    /**
     * Entropy of the shares.
     *
     * @return {@code −Σ s_e ln s_e} in nats: {@code ln E} when all are used alike, 0 when one takes all
     */
    public double entropy() {
        double sum = 0;
        for (int e = 0; e < counts.length; e++) {
            double share = share(e);
            sum -= share == 0 ? 0 : share * Math.log(share);
        }
        return sum;
    }

    /**
     * Experts without a token.
     *
     * @return their number
     */
    public int idle() {
        return (int) Arrays.stream(counts).filter(count -> count == 0).count();
    }

    /**
     * Rows of each expert that is called, when the tokens are one batch and each expert is one product.
     *
     * @return fewest, median and most; 0 each when none is called
     */
    public RowsPerCall rowsPerCall() {
        long[] called =
                Arrays.stream(counts).filter(count -> count > 0).sorted().toArray();
        int n = called.length;
        return n == 0
                ? new RowsPerCall(0, 0, 0, 0)
                : new RowsPerCall(n, called[0], called[(n - 1) / 2] / 2.0 + called[n / 2] / 2.0, called[n - 1]);
    }

    /**
     * How uneven the products of one batch are.
     *
     * @param called experts with at least one row
     * @param fewest rows of one of them
     * @param median rows; the mean of the middle two of an even number
     * @param most rows
     */
    public record RowsPerCall(int called, long fewest, double median, long most) {}

    @Override
    public String toString() {
        return "ExpertLoad[" + tokens + " tokens, " + assignments + " assignments, " + counts.length + " experts]";
    }
}
