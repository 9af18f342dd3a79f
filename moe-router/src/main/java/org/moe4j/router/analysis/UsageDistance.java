package org.moe4j.router.analysis;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.moe4j.core.internal.Require;

/**
 * How differently passages use the experts of one layer, beside what chance makes of passages of one kind.
 *
 * <p>The distance of two passages is the total variation of their shares, {@code ½ Σ_e |a_e − b_e|}: 0 where the shares are the
 * same, 1 where no expert is used by both; a passage without assignments is at distance 0 of another without any and 1 of all others. The noise floor is the mean over the passages of the distance between a passage's halves: halves
 * being shorter than passages, chance moves them further apart, so that the floor is rather too high.
 *
 * <p>Who: the article on OLMoE-1B-7B (LLM Architecture Refresh 5, section 4). Different routing is no proof of different skills: a router
 * is a linear map, and sends apart what the model already represents apart.
 *
 * @param noise distance between the halves of each passage
 * @param pairs distance of each two passages
 */
public record UsageDistance(List<Double> noise, List<Pair> pairs) {
    /**
     * Two passages.
     *
     * @param first index of the one
     * @param second index of the other, above {@code first}
     * @param distance total variation
     */
    public record Pair(int first, int second, double distance) {}

    /**
     * Copies the lists.
     *
     * @param noise distance between the halves of each passage
     * @param pairs distance of each two passages
     */
    public UsageDistance {
        noise = List.copyOf(noise);
        pairs = List.copyOf(pairs);
    }

    /**
     * The distances between some passages.
     *
     * @param passages in one layer, of as many experts
     * @return of each two of them, the first with all others first
     */
    public static UsageDistance of(List<PassageUsage> passages) {
        List<Double> noise = new ArrayList<>();
        List<Pair> pairs = new ArrayList<>();
        for (int i = 0; i < passages.size(); i++) {
            PassageUsage passage = passages.get(i);
            noise.add(totalVariation(passage.first(), passage.second()));
            for (int j = i + 1; j < passages.size(); j++) {
                pairs.add(new Pair(
                        i, j, totalVariation(passage.all(), passages.get(j).all())));
            }
        }
        return new UsageDistance(noise, pairs);
    }

    /**
     * Total variation of the shares of two loads.
     *
     * @param a a load
     * @param b another, of as many experts
     * @return in 0..1
     * @throws IllegalArgumentException for loads of different numbers of experts
     */
    public static double totalVariation(ExpertLoad a, ExpertLoad b) {
        Require.count("b", b.experts(), a.experts(), "experts");
        if (a.assignments() == 0 || b.assignments() == 0) {
            return a.assignments() == b.assignments() ? 0 : 1;
        }
        double sum = 0;
        for (int e = 0; e < a.experts(); e++) {
            sum += Math.abs(a.share(e) - b.share(e));
        }
        return Math.min(1, sum / 2);
    }

    /**
     * The noise floor.
     *
     * @return the mean over the passages; 0 without any
     */
    public double noiseFloor() {
        return noise.stream().mapToDouble(distance -> distance).average().orElse(0);
    }

    /**
     * The distance between different passages.
     *
     * @return the mean over the pairs; 0 without any
     */
    public double cross() {
        return pairs.stream().mapToDouble(Pair::distance).average().orElse(0);
    }

    /**
     * The distance between different passages over the noise floor.
     *
     * @return {@code cross/noise}; empty where the noise floor is 0 or there are no pairs
     */
    public OptionalDouble crossOverNoise() {
        double floor = noiseFloor();
        return floor == 0 || pairs.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(cross() / floor);
    }

    /**
     * Experts that one passage uses and another never.
     *
     * @param used uses them
     * @param never does not, of as many experts
     * @return their indices, ascending
     * @throws IllegalArgumentException for loads of different numbers of experts
     */
    public static List<Integer> usedOnlyBy(ExpertLoad used, ExpertLoad never) {
        Require.count("never", never.experts(), used.experts(), "experts");
        List<Integer> experts = new ArrayList<>();
        for (int e = 0; e < used.experts(); e++) {
            if (used.count(e) > 0 && never.count(e) == 0) {
                experts.add(e);
            }
        }
        return experts;
    }

    /**
     * The expert whose share is most larger in one passage than in another.
     *
     * @param from where it is small
     * @param to where it is large, of as many experts
     * @return its index; of equal ones the lower
     * @throws IllegalArgumentException for loads of different numbers of experts
     */
    public static int risesMost(ExpertLoad from, ExpertLoad to) {
        Require.count("to", to.experts(), from.experts(), "experts");
        int best = 0;
        for (int e = 1; e < from.experts(); e++) {
            best = rise(from, to, e).compareTo(rise(from, to, best)) > 0 ? e : best;
        }
        return best;
    }

    /** The rise of a share times both numbers of assignments: exact, for rounding would decide between equal ones. */
    private static BigInteger rise(ExpertLoad from, ExpertLoad to, int expert) {
        BigInteger after = BigInteger.valueOf(to.count(expert)).multiply(all(from));
        return after.subtract(BigInteger.valueOf(from.count(expert)).multiply(all(to)));
    }

    private static BigInteger all(ExpertLoad load) {
        return BigInteger.valueOf(Math.max(1, load.assignments()));
    }
}
