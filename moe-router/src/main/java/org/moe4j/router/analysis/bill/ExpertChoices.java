package org.moe4j.router.analysis.bill;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.internal.Require;

/**
 * Which sets of experts a token may have at one layer. At the same parameters and the same arithmetic, E·F and K·F fixed, more and
 * narrower experts make more of them (the article on OLMoE-1B-7B, LLM Architecture Refresh 5, §1).
 *
 * @param experts E, at least 1
 * @param topK K in 0..E
 * @param width F, at least 1
 */
public record ExpertChoices(int experts, int topK, int width) {
    /**
     * Checks the numbers.
     *
     * @param experts E, at least 1
     * @param topK K in 0..E
     * @param width F, at least 1
     * @throws IllegalArgumentException for {@code experts} below 1, {@code topK} out of range or {@code width} below 1
     */
    public ExpertChoices {
        Require.atLeast("experts", experts, 1);
        Require.inRange("topK", topK, 0, experts, "experts");
        Require.atLeast("width", width, 1);
    }

    /**
     * How many sets of K in E experts there are. Groups, of which some are closed, allow fewer.
     *
     * @return {@code E!/(K!·(E − K)!)}, exactly
     */
    public BigInteger sets() {
        BigInteger sets = BigInteger.ONE;
        for (int i = 1; i <= topK; i++) {
            sets = sets.multiply(BigInteger.valueOf(experts - topK + i)).divide(BigInteger.valueOf(i));
        }
        return sets;
    }

    /**
     * The layers of the same budget whose experts are made of whole ones of this: for each common divisor d of E and K,
     * {@code E/d} experts of width {@code d·F}, {@code K/d} of them for a token.
     *
     * @return the widest experts first, this last
     */
    public List<ExpertChoices> atEqualBudget() {
        List<ExpertChoices> all = new ArrayList<>();
        for (int d = Math.max(1, topK); d >= 1; d--) {
            if (experts % d == 0 && topK % d == 0) {
                all.add(new ExpertChoices(experts / d, topK / d, Require.product("width", width, d)));
            }
        }
        return List.copyOf(all);
    }
}
