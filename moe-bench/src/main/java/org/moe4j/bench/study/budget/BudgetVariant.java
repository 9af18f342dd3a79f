package org.moe4j.bench.study.budget;

import java.util.Locale;
import org.moe4j.merge.ActiveWidths;

/** Where the width of a shared expert comes from: nowhere, from outside, or out of the routed budget in one of two ways. */
public enum BudgetVariant {
    /** There is no shared expert. */
    NONE("no shared expert"),
    /** A shared expert beside the same routed ones: more parameters and more work. */
    ADDITIVE("on top"),
    /**
     * One of the routed experts is made the shared one, and each token has one routed expert less: shared expert isolation of
     * DeepSeekMoE (Dai et al. 2024, arXiv:2401.06066, Section 3.2), for one shared expert.
     */
    FEWER("for one routed expert"),
    /** As many routed experts as without a shared one, and as many of them for a token, but narrower by d_s/K each. */
    NARROWER("for narrower routed ones");

    private final String phrase;

    BudgetVariant(String phrase) {
        this.phrase = phrase;
    }

    /**
     * The name that scripts parse.
     *
     * @return none, additive, fewer or narrower
     */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * In words: where the shared expert comes from.
     *
     * @return for legends
     */
    public String phrase() {
        return phrase;
    }

    /**
     * Whether it has a shared expert.
     *
     * @return false for {@link #NONE}
     */
    public boolean shares() {
        return this != NONE;
    }

    /** E of this variant. */
    int experts() {
        return BudgetLayers.EXPERTS - (this == FEWER ? 1 : 0);
    }

    /** K of this variant. */
    int topK() {
        return BudgetLayers.TOP_K - (this == FEWER ? 1 : 0);
    }

    /** F of this variant. */
    int width() {
        return BudgetLayers.WIDTH - (this == NARROWER ? BudgetLayers.WIDTH / BudgetLayers.TOP_K : 0);
    }

    /** d_s of this variant. */
    int sharedWidth() {
        return shares() ? BudgetLayers.WIDTH : 0;
    }

    /** What is active for a token, in widths so many times those of the study. */
    ActiveWidths widths(int factor) {
        return new ActiveWidths(topK(), factor * width(), factor * sharedWidth());
    }

    /**
     * Numbers in experts more than without a shared one. In widths, {@code E·F' + d_s} of {@link #NARROWER} is less than
     * {@code E·F} by {@code (E/K − 1)·d_s}.
     */
    long moreStored() {
        long shared = 3L * BudgetLayers.HIDDEN * BudgetLayers.WIDTH;
        return switch (this) {
            case NONE, FEWER -> 0;
            case ADDITIVE -> shared;
            case NARROWER -> shared - BudgetLayers.EXPERTS * shared / BudgetLayers.TOP_K;
        };
    }

    /** Operations of a token in its experts more than without a shared one. */
    long moreActive() {
        return this == ADDITIVE ? 6L * BudgetLayers.HIDDEN * BudgetLayers.WIDTH : 0;
    }
}
