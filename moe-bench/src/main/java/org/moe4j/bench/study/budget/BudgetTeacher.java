package org.moe4j.bench.study.budget;

import java.util.Locale;

/** What the targets are made of. The variance of the noise-free targets is the same on average over teachers. */
public enum BudgetTeacher {
    /** Half of the variance is one function of all tokens, the other half a function of the token's group. */
    COMMON("half of the target common to all tokens", 0.5),
    /** All of it is a function of the token's group. */
    GROUPS("no common part", 0);

    private final String phrase;
    private final double share;

    BudgetTeacher(String phrase, double share) {
        this.phrase = phrase;
        this.share = share;
    }

    /**
     * The name that scripts parse.
     *
     * @return common or groups
     */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * In words.
     *
     * @return for titles
     */
    public String phrase() {
        return phrase;
    }

    /** Part of the variance of the targets that is common to all tokens. */
    double commonShare() {
        return share;
    }
}
