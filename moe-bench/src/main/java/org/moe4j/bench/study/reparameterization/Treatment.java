package org.moe4j.bench.study.reparameterization;

import java.util.Locale;

/** What a rewritten layer is trained with, beside the settings and the state that the original is trained with. */
public enum Treatment {
    /** Every setting times its factor. */
    MAPPED("all mapped", true),
    /** The settings of the original, as they are. */
    UNCHANGED("nothing mapped", false),
    /** Every setting but ε times its factor. */
    WITHOUT_EPSILON("all but ε mapped", false),
    /** Every setting but the decay times its factor. */
    WITHOUT_DECAY("all but the decay mapped", false),
    /** Every setting times its factor; both layers clip by the global norm of their gradients. */
    CLIPPED("clipped by its own norm", false),
    /** The same, but the rewritten layer takes the norm of its gradients times c, which are those of the original. */
    CLIPPED_BACK("clipped by the norm mapped back", true),
    /** Rewritten after half of the steps: settings and state times their factors. */
    HALFWAY("half-way, state mapped", true),
    /** Rewritten after half of the steps: settings times their factors, the state as it was. */
    HALFWAY_STATE_KEPT("half-way, state as it was", false);

    private final String phrase;
    private final boolean follows;

    Treatment(String phrase, boolean follows) {
        this.phrase = phrase;
        this.follows = follows;
    }

    /**
     * The name that scripts parse.
     *
     * @return as without-decay
     */
    public String text() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * In words.
     *
     * @return for tables and legends
     */
    public String phrase() {
        return phrase;
    }

    /**
     * What theory says.
     *
     * @return whether the rewritten layer takes the steps of the original
     */
    public boolean follows() {
        return follows;
    }

    boolean clips() {
        return this == CLIPPED || this == CLIPPED_BACK;
    }

    boolean startsHalfway() {
        return this == HALFWAY || this == HALFWAY_STATE_KEPT;
    }
}
