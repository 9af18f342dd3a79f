package org.moe4j.bench.study.balancing;

import java.util.Locale;

/** What keeps the load of the experts even while a layer learns. */
public enum BalancingMethod {
    /** Nothing does. */
    NONE("no balancing"),
    /** A load-balancing loss is added to the loss of the output. */
    LOSS("load-balancing loss"),
    /** The sign rule moves a selection bias after each step. */
    BIAS("selection bias");

    private final String phrase;

    BalancingMethod(String phrase) {
        this.phrase = phrase;
    }

    /**
     * The name that scripts parse.
     *
     * @return none, loss or bias
     */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * In words.
     *
     * @return for legends
     */
    public String phrase() {
        return phrase;
    }

    /**
     * Whether it keeps the load even.
     *
     * @return false for {@link #NONE}
     */
    public boolean balances() {
        return this != NONE;
    }
}
