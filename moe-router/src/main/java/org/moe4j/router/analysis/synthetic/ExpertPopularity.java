package org.moe4j.router.analysis.synthetic;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.SplittableRandom;
import org.moe4j.core.internal.Require;

/**
 * How probable each expert is to be among the K of a token: inclusion probabilities {@code π_e} in 0..1 with {@code Σ_e π_e = K}. The
 * expected load of expert e is the share {@code π_e / K} of all assignments.
 *
 * <p>They stand as whole multiples of 2^-32, so that a draw can have exactly them.
 */
public final class ExpertPopularity {
    /** Each is computed anew some thousand times. */
    private static final int MOST_OF_ALL_KINDS = 1 << 14;

    /** What stands for the probability 1. */
    static final long ONE = 1L << 32;

    private final int topK;
    private final long[] units; // probabilities, as multiples of 1 / ONE; their sum is K · ONE

    private ExpertPopularity(int topK, long[] units) {
        this.topK = topK;
        this.units = units;
    }

    /**
     * Given probabilities.
     *
     * @param topK K in 1..E
     * @param inclusion E numbers in 0..1 whose sum is K, but for rounding
     * @return the nearest multiples of 2^-32 with just that sum
     * @throws IllegalArgumentException for K outside 1..E, probabilities outside 0..1, or a sum other than K
     */
    public static ExpertPopularity of(int topK, double... inclusion) {
        Require.inRange("topK", topK, 1, inclusion.length, "experts");
        double sum = 0;
        for (double probability : inclusion) {
            if (!(probability >= 0 && probability <= 1)) {
                throw Require.expected("inclusion", "probabilities 0..1", probability);
            }
            sum += probability;
        }
        if (Math.abs(sum - topK) > 1e-6 * topK) {
            throw Require.expected("inclusion", "a sum of " + topK + " (topK)", sum);
        }
        return new ExpertPopularity(topK, units(topK, inclusion));
    }

    /** Rounded down; what is missing goes, one each, to those that lost most. */
    private static long[] units(int topK, double[] inclusion) {
        long[] units = new long[inclusion.length];
        long missing = topK * ONE;
        List<Integer> byLoss = new ArrayList<>();
        for (int e = 0; e < units.length; e++) {
            units[e] = (long) (inclusion[e] * ONE);
            missing -= units[e];
            byLoss.add(e);
        }
        byLoss.sort((a, b) -> Double.compare(inclusion[b] * ONE - units[b], inclusion[a] * ONE - units[a]));
        long step = missing < 0 ? -1 : 1;
        while (missing != 0) {
            for (int e : byLoss) {
                if (missing != 0 && units[e] + step >= 0 && units[e] + step <= ONE) {
                    units[e] += step;
                    missing -= step;
                }
            }
        }
        return units;
    }

    /**
     * All experts alike.
     *
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @return K/E for each
     */
    public static ExpertPopularity even(int experts, int topK) {
        return ofVariation(experts, topK, 0);
    }

    /**
     * A profile whose expected load has a given coefficient of variation, as the article on OLMoE-1B-7B (LLM Architecture Refresh 5)
     * prints it for OLMoE's layers in its section 8: 0.88, 0.89 and 1.07 with E = 64 and K = 8.
     *
     * <p>{@code π_e = min(1, c · exp(σ z_e))} with z_e the quantile {@code (e + ½)/E} of a normal distribution from the largest down, c so
     * that the sum is K, and σ so that the coefficient is the given one.
     *
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @param variation standard deviation (population) of the expected loads over their mean, 0 to {@code √(E/K − 1)}, which K
     *     experts that take everything have
     * @return the most popular expert first
     * @throws IllegalArgumentException for K outside 1..E, or a variation outside 0..√(E/K − 1)
     */
    public static ExpertPopularity ofVariation(int experts, int topK, double variation) {
        requireSizes(experts, topK);
        requireVariation(experts, topK, variation);
        return of(topK, PopularityProfile.plain(experts).ofVariation(topK, variation));
    }

    /**
     * Profiles of several kinds of text. Each has, on average over the kinds, the given coefficient of variation, and two of them differ,
     * on average over the pairs, by the given distance, as in the article's section 4: 0.554 between kinds of text, 0.216 between
     * halves of one.
     *
     * <p>Each kind's probabilities are {@code (1 − λ) · common + λ · own}: the common profile is the same for all, the own ones are one
     * profile turned by E over the number of kinds.
     *
     * @param experts E, at least the number of kinds
     * @param topK K in 1..E
     * @param variation as of {@link #ofVariation}
     * @param distance total variation distance of the expected loads, from 0 on; the most there can be depends on all else
     * @param kinds at least 2, and at most 16,384 / E
     * @return one profile of each kind
     * @throws IllegalArgumentException for sizes out of these ranges, or a distance that cannot be, with the largest one
     */
    public static List<ExpertPopularity> ofDistance(
            int experts, int topK, double variation, double distance, int kinds) {
        requireSizes(experts, topK);
        Require.inRange("kinds", kinds, 2, experts, "experts");
        if ((long) kinds * experts > MOST_OF_ALL_KINDS) {
            throw Require.expected(
                    "kinds",
                    "at most " + MOST_OF_ALL_KINDS / experts + " (so many kinds of " + experts + " experts)",
                    kinds);
        }
        requireVariation(experts, topK, variation);
        return new KindsOfText(experts, topK, variation, kinds)
                .ofDistance(distance).stream()
                        .map(inclusion -> of(topK, inclusion))
                        .toList();
    }

    private static void requireSizes(int experts, int topK) {
        Require.inRange("experts", experts, 1, SyntheticRouting.MOST_EXPERTS, "experts");
        Require.inRange("topK", topK, 1, experts, "experts");
    }

    private static void requireVariation(int experts, int topK, double variation) {
        double largest = Math.sqrt((double) experts / topK - 1);
        if (!(variation >= 0 && variation <= largest)) {
            throw Require.expected("variation", "0.." + largest + " (sqrt(E/K - 1))", variation);
        }
    }

    /**
     * The same probabilities for other experts: neighbours are no longer about as popular.
     *
     * @param seed the same seed gives the same permutation of as many experts
     * @return permuted
     */
    public ExpertPopularity shuffled(long seed) {
        long[] permuted = units.clone();
        SplittableRandom random = new SplittableRandom(seed);
        for (int e = permuted.length - 1; e > 0; e--) {
            int other = random.nextInt(e + 1);
            long kept = permuted[e];
            permuted[e] = permuted[other];
            permuted[other] = kept;
        }
        return new ExpertPopularity(topK, permuted);
    }

    /**
     * Number of experts.
     *
     * @return E
     */
    public int experts() {
        return units.length;
    }

    /**
     * Number of experts of a token.
     *
     * @return K
     */
    public int topK() {
        return topK;
    }

    long units(int expert) {
        return units[expert];
    }

    /**
     * Probability that a token has an expert.
     *
     * @param expert 0 ≤ expert &lt; E
     * @return π_e
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public double inclusion(int expert) {
        return (double) units[Objects.checkIndex(expert, units.length)] / ONE;
    }

    /**
     * Expected load of an expert.
     *
     * @param expert 0 ≤ expert &lt; E
     * @return π_e / K; the sum over all experts is 1
     */
    public double share(int expert) {
        return inclusion(expert) / topK;
    }

    /**
     * Coefficient of variation of the expected loads. A count over few tokens has a larger one, by chance.
     *
     * @return standard deviation (population) over mean
     */
    public double variation() {
        return PopularityProfile.variation(inclusions());
    }

    private double[] inclusions() {
        return Arrays.stream(units).mapToDouble(unit -> (double) unit / ONE).toArray();
    }

    /**
     * Total variation distance of the expected loads.
     *
     * @param other of as many experts
     * @return {@code ½ Σ_e |share_e − other share_e|}, 0..1
     * @throws IllegalArgumentException for {@code other} with another number of experts
     */
    public double distance(ExpertPopularity other) {
        Require.count("other", other.experts(), experts(), "experts");
        double sum = 0;
        for (int e = 0; e < units.length; e++) {
            sum += Math.abs(share(e) - other.share(e));
        }
        return sum / 2;
    }

    /**
     * Expected number of different experts of tokens that draw independently.
     *
     * @param tokens B, at least 0
     * @return {@code Σ_e (1 − (1 − π_e)^B)}
     */
    public double expectedNeeded(long tokens) {
        double sum = 0;
        for (int e = 0; e < units.length; e++) {
            sum += 1 - Math.pow(1 - inclusion(e), (double) tokens);
        }
        return sum;
    }

    /** As {@code top 8 of 64 experts, coefficient of variation 0.880}. */
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT, "top %d of %d experts, coefficient of variation %.3f", topK, units.length, variation());
    }
}
