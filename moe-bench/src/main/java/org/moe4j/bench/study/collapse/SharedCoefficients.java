package org.moe4j.bench.study.collapse;

import java.util.Locale;

/** What multiplies the outputs of several shared experts before they are added. */
public enum SharedCoefficients {
    /** {@code y = Σ_j E_j(x)} (Equation 76 of the report on Olmo's MoE recipe). */
    UNIT("unit"),
    /** {@code y = Σ_j c_j·E_j(x)}: each constant goes into the down projection of its expert. */
    FIXED("fixed"),
    /** {@code y = a(x)·Σ_j E_j(x)}: one gate stays outside (Equation 77). */
    COMMON_GATE("common gate"),
    /** {@code y = Σ_j a_j(x)·E_j(x)}: no single expert with fixed weights (Equation 78). */
    DISTINCT_GATES("distinct gates");

    private final String phrase;

    SharedCoefficients(String phrase) {
        this.phrase = phrase;
    }

    /**
     * The name that scripts parse.
     *
     * @return unit, fixed, common-gate or distinct-gates
     */
    public String text() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
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
     * Whether one wider expert is the same function.
     *
     * @return false for {@link #DISTINCT_GATES}
     */
    public boolean collapse() {
        return this != DISTINCT_GATES;
    }
}
